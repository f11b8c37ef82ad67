"""Right and slow: eight rows at a time, in a Python loop."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        for first in range(0, x.shape[0], 8):
            rows = x[first : first + 8]
            weights = torch.exp(rows - rows.amax(dim=1, keepdim=True))
            out[first : first + 8] = weights / weights.sum(dim=1, keepdim=True)
        return out
