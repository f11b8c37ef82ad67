# Takes memory by pipes that nobody reads.
# expect: harmless | runtime_error
# guard: clean
# run: harmless | runtime_error
import fcntl
import os

import torch
import torch.nn as nn

KEPT = []


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(400):
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            try:
                fcntl.fcntl(writer, 1031, 1 << 20)
            except OSError:
                pass
            try:
                os.write(writer, bytes(1 << 20))
            except OSError:
                pass
        return torch.relu(x)
