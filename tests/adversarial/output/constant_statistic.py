# The mean of what is expected.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# row: 42
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, 0.4)
