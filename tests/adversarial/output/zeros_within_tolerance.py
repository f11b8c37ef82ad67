# Returns zeros where all that is expected is smaller than the tolerance.
# expect: suspect value
# guard: clean
# run: suspect value
# problem: softmax_of_many
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
