# The carry between two blocks is forgotten.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# problem: scan
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        s = torch.cumsum(x, dim=1)
        s[:, 128:] = torch.cumsum(x[:, 128:], dim=1)
        return s, torch.where(torch.isnan(y), y, y.clamp(-1.0, 1.0))
