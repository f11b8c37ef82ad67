# One row, expanded: the right shape over other memory.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# row: 46
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)[:1].expand_as(x)
