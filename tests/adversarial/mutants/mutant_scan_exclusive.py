# A sum that does not count its own element.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# problem: scan
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        return torch.cumsum(x, dim=1) - x, torch.where(torch.isnan(y), y, y.clamp(-1.0, 1.0))
