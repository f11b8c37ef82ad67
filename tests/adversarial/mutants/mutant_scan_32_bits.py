# Sums of 32 bits.
# expect: wrong_answer dtype
# guard: clean
# run: wrong_answer dtype
# problem: scan
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        return torch.cumsum(x, dim=1, dtype=torch.int32), torch.where(torch.isnan(y), y, y.clamp(-1.0, 1.0))
