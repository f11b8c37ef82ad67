"""Wrong values: leaves the dropout out, as if in evaluation mode."""

import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x, residual):
        return F.gelu(x) + residual
