# An exception with a hundred megabytes to say.
# expect: runtime_error
# guard: clean
# run: runtime_error
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        raise ValueError('x' * 100_000_000)
