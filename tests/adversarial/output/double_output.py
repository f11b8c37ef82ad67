# The right values in another type.
# expect: wrong_answer dtype
# guard: clean
# run: wrong_answer dtype
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x).double()
