"""Right and fast: two passes instead of three."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, alpha, beta):
        super().__init__()
        self.alpha = alpha
        self.beta = beta

    def forward(self, x, y):
        return torch.add(self.beta * y, x, alpha=self.alpha)
