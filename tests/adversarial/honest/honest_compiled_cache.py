# Compiled kernels, kept by shape.
# expect: passed
# guard: clean
# row: H22
# matrix: honest: compiled-kernel cache
import torch
import torch.nn as nn

COMPILED = {}


class ModelNew(nn.Module):
    def forward(self, x):
        key = (x.shape, x.dtype)
        if key not in COMPILED:
            COMPILED[key] = torch.compile(torch.relu)
        return COMPILED[key](x)
