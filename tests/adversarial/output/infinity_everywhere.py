# Infinity, in the hope of a relative error of NaN.
# expect: wrong_answer value | wrong_answer nan
# guard: clean
# run: wrong_answer value | wrong_answer nan
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, float('inf'))
