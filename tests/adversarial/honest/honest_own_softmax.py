# Names a forbidden function in texts and comments, and computes without it.
# expect: passed
# guard: clean
# run: passed
# problem: own_softmax
import torch
import torch.nn as nn

REPLACES = "torch.nn.functional.softmax"


class ModelNew(nn.Module):
    """The same as torch.softmax(x, -1)."""

    def forward(self, x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)
