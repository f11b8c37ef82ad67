# The mean is not taken off.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# problem: norm
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(96)

    def forward(self, x):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.norm.weight + self.norm.bias
