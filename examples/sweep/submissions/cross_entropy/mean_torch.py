"""Wrong shape: one mean where a loss per row is asked for."""

import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        return F.cross_entropy(logits, targets)
