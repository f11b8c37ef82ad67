# The approximation by a sigmoid.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# problem: gelu
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)
