"""Wrong values: drops as many entries, but others, because it seeds the generator itself."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x, residual):
        torch.manual_seed(0)
        return F.dropout(F.gelu(x), self.p, training=True) + residual
