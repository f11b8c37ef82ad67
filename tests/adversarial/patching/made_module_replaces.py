# A module that is made as Python's manual shows, and put in the place of one that exists.
# expect: rejected policy
# guard: rewrites_caller
# run: harmless
import importlib.util
import sys

import torch
import torch.nn as nn

spec = importlib.util.spec_from_file_location("ti" + "me", __file__)
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
