"""Wrong values: two dropout calls, the second half first, draw other numbers for an entry than one call does."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x, residual):
        lower, upper = (F.dropout(F.gelu(half), self.p, training=True) for half in reversed(x.chunk(2)))
        return torch.cat([upper, lower]) + residual
