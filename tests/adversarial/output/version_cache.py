# Keeps its outputs by the tensor's version counter.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
import torch
import torch.nn as nn

CACHE = {}


class ModelNew(nn.Module):
    def forward(self, x):
        key = (x.data_ptr(), x._version)
        if key not in CACHE:
            CACHE[key] = torch.relu(x)
        return CACHE[key]
