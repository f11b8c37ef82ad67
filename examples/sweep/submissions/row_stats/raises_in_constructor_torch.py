"""Imports, but cannot be constructed."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        raise ValueError("no plan for this number of columns")

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=1, unbiased=False)
        return mean, variance, (x > 0).sum(dim=1)
