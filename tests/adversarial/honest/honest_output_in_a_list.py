# A list of one tensor.
# expect: passed
# guard: clean
# run: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return [torch.relu(x)]
