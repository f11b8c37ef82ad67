# re.compile compiles no program.
# expect: passed
# guard: clean
# run: passed
import re

import torch
import torch.nn as nn

SHAPE = re.compile(r"(\d+)x(\d+)")


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x) if SHAPE.match("2x2") else x
