"""Right values, but computed in the caller's tensor: the input is changed."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu_(x).clone()
