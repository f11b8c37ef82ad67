# The variance of a sample instead of that of a population.
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
        y = (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + 1e-5)
        return y * self.norm.weight + self.norm.bias
