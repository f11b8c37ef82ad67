"""Right values, but the sum is kept in the caller's residual: an input is changed."""

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        self.norm = nn.LayerNorm(hidden, eps=eps)

    def forward(self, x, residual):
        return self.norm(residual.add_(x))
