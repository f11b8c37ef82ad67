# The epsilon of another library.
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
        return nn.functional.layer_norm(x, (96,), self.norm.weight, self.norm.bias, 1e-3)
