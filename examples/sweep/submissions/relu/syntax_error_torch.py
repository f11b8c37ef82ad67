"""Does not parse: the parenthesis in forward is never closed."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x
