"""Asks for more host memory than any machine has."""

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, alpha, beta):
        super().__init__()
        self.alpha = alpha
        self.beta = beta

    def forward(self, x, y):
        hoard = b"\1" * (16 << 40)
        return self.alpha * x + self.beta * y + len(hoard)
