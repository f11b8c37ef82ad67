"""Wrong values: weights under another name, and drawn after something else, are not the problem's weights."""

import math

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.noise = torch.randn(width)
        self.rows = nn.Parameter(torch.randn(tokens, width))
        self.scale = math.sqrt(width)

    def forward(self, ids):
        return self.rows[ids] * self.scale
