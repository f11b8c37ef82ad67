# Sends packets into its channel until nobody takes them.
# expect: harmless | rejected tamper | runtime_error
# guard: review network
# run: harmless | rejected tamper | runtime_error
import os
import socket

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        channel = socket.socket(fileno=os.dup(3))
        channel.setblocking(False)
        try:
            while True:
                channel.send(b'W' * 4096)
        except OSError:
            pass
        return torch.relu(x)
