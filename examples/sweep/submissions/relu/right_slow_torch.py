"""Right and slow: a Python loop over slices, three passes each."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        rows = [(part + part.abs()) / 2 for part in x.split(10)]
        return torch.cat(rows)
