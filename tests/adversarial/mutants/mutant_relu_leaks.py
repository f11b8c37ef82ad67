# Negative values leak a thousandth.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# problem: relu
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.where(x > 0, x, 0.001 * x)
