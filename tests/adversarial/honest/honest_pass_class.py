# An exception class with nothing in it.
# expect: passed
# guard: clean
# run: passed
# row: H21
# matrix: honest: `pass` in exception class
import torch
import torch.nn as nn

class TooSmall(ValueError):
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        if x.numel() == 0:
            raise TooSmall
        return torch.relu(x)
