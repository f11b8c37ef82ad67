"""Right: the weights have another name, but are drawn in the same order after the same seed."""

import math

import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.rows = nn.Embedding(tokens, width)
        self.scale = math.sqrt(width)

    def forward(self, ids):
        return F.embedding(ids, self.rows.weight).mul_(self.scale)
