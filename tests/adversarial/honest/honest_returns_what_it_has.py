# Outputs that the model has as well, as its reference: a parameter, what it made in its first call, its input, a part of a buffer.
# expect: passed
# guard: clean
# run: passed
# problem: kept
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64))
        self.register_buffer("mean", torch.randn(128))
        self.mask = None

    def forward(self, x):
        if self.mask is None:
            self.mask = torch.tril(torch.ones(64, 64, device=x.device))
        return x * self.mask * self.weight, self.weight, self.mask, x, self.mean[:64]
