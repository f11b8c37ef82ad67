# Keeps its outputs by shape.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
import torch
import torch.nn as nn

CACHE = {}


class ModelNew(nn.Module):
    def forward(self, x):
        if x.shape not in CACHE:
            CACHE[x.shape] = torch.relu(x)
        return CACHE[x.shape]
