# The sum runs over the other axis.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# problem: softmax
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=0)
