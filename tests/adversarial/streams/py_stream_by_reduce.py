# By a fold of getattr over a list.
# expect: rejected stream
# guard: cuda_stream_create
import functools

import torch
import torch.nn as nn

SIDE = functools.reduce(getattr, ["cuda", "Stream"], torch)()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
