# Calls an operator that is not named itself but computes by a forbidden one.
# expect: rejected policy
# guard: clean
# run: rejected policy
# problem: own_softmax
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.special.softmax(x, -1)
