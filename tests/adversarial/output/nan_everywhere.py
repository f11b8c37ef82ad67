# NaN equals nothing, so nothing differs from it.
# expect: wrong_answer nan
# guard: clean
# run: wrong_answer nan
# row: 44
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, float('nan'))
