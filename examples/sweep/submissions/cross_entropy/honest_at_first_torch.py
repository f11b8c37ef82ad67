"""Wrong values: right for three calls, then tired of computing. Every call is checked, not only the first ones."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, logits, targets):
        self.calls += 1
        if self.calls > 3:
            return torch.empty_like(logits[:, 0]).fill_(7.0)
        return F.cross_entropy(logits, targets, reduction="none")
