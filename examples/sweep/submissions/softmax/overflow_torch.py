"""NaN: without taking the maximum off first, exp overflows in the shifted rows and inf / inf is not a number."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        weights = torch.exp(x)
        return weights / weights.sum(dim=1, keepdim=True)
