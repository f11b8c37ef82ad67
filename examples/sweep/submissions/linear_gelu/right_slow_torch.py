"""Right and slow: the product as a sum of thin ones, GELU written out in seven passes."""

import math

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        thin = zip(x.split(64, dim=1), self.linear.weight.split(64, dim=1))
        y = sum(a @ b.t() for a, b in thin) + self.linear.bias
        return 0.5 * y * (1 + torch.erf(y / math.sqrt(2)))
