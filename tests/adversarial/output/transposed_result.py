# The right values in the wrong order.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x).t()
