# A module put in the place of another.
# expect: rejected policy
# guard: rewrites_caller
# run: harmless
import math
import sys

import torch
import torch.nn as nn

sys.modules["time"] = sys.modules["math"]


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
