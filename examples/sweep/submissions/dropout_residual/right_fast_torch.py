"""Right and fast: the same dropout call, and the residual added in place to its own result."""

import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x, residual):
        return F.dropout(F.gelu(x), self.p, training=True).add_(residual)
