# Rows that overlap in memory.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.as_strided(torch.relu(x), x.shape, (1, 1))
