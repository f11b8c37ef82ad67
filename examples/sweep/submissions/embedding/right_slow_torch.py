"""Right and slow: one sentence at a time."""

import math

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.table = nn.Embedding(tokens, width)
        self.scale = math.sqrt(width)

    def forward(self, ids):
        return torch.stack([self.table.weight[sentence] * self.scale for sentence in ids])
