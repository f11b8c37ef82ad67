# One element that would broadcast.
# expect: wrong_answer shape
# guard: clean
# run: wrong_answer shape
# row: 46
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x).mean().reshape(1)
