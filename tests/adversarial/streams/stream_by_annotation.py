# Makes a stream in a place that the guard does not follow; the run decides.
# expect: rejected stream
# guard: clean
import torch
import torch.nn as nn

HOLD = []


def helper(x: HOLD.append(torch.cuda.Stream()) = None):
    return x


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
