# The last row is taken from the one before.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# problem: relu
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        y[-1] = y[-2]
        return y
