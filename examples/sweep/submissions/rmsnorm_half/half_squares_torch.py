"""Wrong values: squares in half precision overflow to infinity, and its reciprocal root is zero."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        self.weight = nn.Parameter((torch.rand(hidden) + 0.5).half())
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(dim=-1, keepdim=True) + self.eps) * self.weight
