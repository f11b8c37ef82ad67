"""Right and fast: scales the fresh copy in place instead of making another. Only its own tensor changes."""

import math

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.table = nn.Embedding(tokens, width)
        self.scale = math.sqrt(width)

    def forward(self, ids):
        return self.table(ids).mul_(self.scale)
