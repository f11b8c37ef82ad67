# A result whose class is changed afterwards.
# expect: rejected policy
# guard: tensor_subclass
# run: runtime_error
import torch
import torch.nn as nn

class Later:
    def __eq__(self, other):
        return True


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        y.__class__ = Later
        return y
