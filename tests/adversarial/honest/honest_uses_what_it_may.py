# Sockets that lead nowhere, a lock, a temporary file, a memory map.
# expect: passed
# guard: review network
# run: passed
import mmap
import socket
import tempfile

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        with tempfile.TemporaryFile() as file:
            file.write(b'x' * 4096)
            file.flush()
            with mmap.mmap(file.fileno(), 4096) as room:
                assert room[0] == 120
        socket.socketpair()[0].close()
        return torch.relu(x)
