# Calls a function that the problem forbids.
# expect: rejected policy
# guard: clean
# run: rejected policy
# problem: own_softmax
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.nn.functional.softmax(x, -1)
