# NaN becomes a bound.
# expect: wrong_answer nan | wrong_answer value
# guard: clean
# run: wrong_answer nan | wrong_answer value
# problem: scan
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        return torch.cumsum(x, dim=1), torch.nan_to_num(y, nan=0.0, posinf=1.0, neginf=-1.0).clamp(-1.0, 1.0)
