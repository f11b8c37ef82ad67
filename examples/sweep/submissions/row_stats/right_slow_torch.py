"""Right and slow: eight rows at a time, in a Python loop."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        parts = [(p.mean(dim=1), p.var(dim=1, unbiased=False), (p > 0).sum(dim=1)) for p in x.split(8)]
        return tuple(torch.cat(column) for column in zip(*parts))
