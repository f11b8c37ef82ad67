# Keeps its output and writes only what is another; the zeros stay. Where outputs need not be brought, one that is kept is, within its call.
# expect: harmless
# guard: clean
# run: harmless
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, x):
        if self.y is None:
            self.y = torch.zeros_like(x)
        else:
            self.y[self.positive] = 0
        self.positive = x > 0
        self.y[self.positive] = x[self.positive]
        return self.y
