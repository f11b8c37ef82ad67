# Makes a stream in a place that the guard does not follow; the run decides.
# expect: rejected stream
# guard: clean
import functools

import torch
import torch.nn as nn

SIDE = functools.partial(getattr, torch.cuda)("Stream")()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
