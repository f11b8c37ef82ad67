# The right bits, called integers.
# expect: wrong_answer dtype
# guard: clean
# run: wrong_answer dtype
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x).view(torch.int32)
