# Prints what would take a terminal over.
# expect: harmless
# guard: clean
# run: harmless
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.write(1, b'\x1b]0;owned\x07\x1b[2J\x9b31m\xff\xfe\x00')
        return torch.relu(x)
