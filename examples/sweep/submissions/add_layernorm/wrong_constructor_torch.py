"""Cannot be constructed: takes no arguments where the problem gives two."""

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(512)

    def forward(self, x, residual):
        return self.norm(x + residual)
