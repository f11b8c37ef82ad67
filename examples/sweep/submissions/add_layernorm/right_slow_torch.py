"""Right and slow: sixteen rows at a time in double precision, brought back to single at the end."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        self.norm = nn.LayerNorm(hidden, eps=eps)

    def forward(self, x, residual):
        parts = [self.normalise(a.double() + b.double()) for a, b in zip(x.split(16), residual.split(16))]
        return torch.cat(parts).to(x.dtype)

    def normalise(self, total):
        variance, mean = torch.var_mean(total, dim=-1, unbiased=False, keepdim=True)
        return (total - mean) / torch.sqrt(variance + self.norm.eps) * self.norm.weight + self.norm.bias
