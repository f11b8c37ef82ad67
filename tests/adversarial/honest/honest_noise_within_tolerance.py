# Differs from run to run by less than the tolerance.
# expect: passed
# guard: clean
# run: passed
# row: H34
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x) * (1 + 1e-6 * torch.rand_like(x))
