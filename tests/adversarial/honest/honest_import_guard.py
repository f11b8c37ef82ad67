# An import that may fail.
# expect: passed
# guard: clean
# run: passed
# matrix: honest: try/except import guard
import torch
import torch.nn as nn

try:
    import triton
except ImportError:
    triton = None


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
