# Prints a hundred megabytes.
# expect: harmless
# guard: clean
# run: harmless
# long
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(1600):
            os.write(1, b'x' * 65535 + b'\n')
        return torch.relu(x)
