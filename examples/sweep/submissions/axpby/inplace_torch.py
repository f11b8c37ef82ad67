"""Right values without any new memory, but they are written over y: an input is changed."""

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, alpha, beta):
        super().__init__()
        self.alpha = alpha
        self.beta = beta

    def forward(self, x, y):
        y.mul_(self.beta).add_(x, alpha=self.alpha)
        return y.clone()
