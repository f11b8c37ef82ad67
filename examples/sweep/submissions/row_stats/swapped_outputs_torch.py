"""Wrong values: var_mean gives the variance first, the problem wants the mean first."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return *torch.var_mean(x, dim=1, unbiased=False), (x > 0).sum(dim=1)
