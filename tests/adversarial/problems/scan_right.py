import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        return torch.cumsum(x, dim=1), torch.where(torch.isnan(y), y, y.clamp(-1.0, 1.0))
