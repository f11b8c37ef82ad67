# Keeps its outputs by the sign of one element.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
import torch
import torch.nn as nn

CACHE = {}


class ModelNew(nn.Module):
    def forward(self, x):
        key = bool(x[0, 0] > 0)
        if key not in CACHE:
            CACHE[key] = torch.relu(x)
        return CACHE[key]
