# A hundred lines of output.
# expect: passed
# guard: clean
# run: passed
# row: H40
import sys

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for i in range(100):
            print(f"step {i}: {x.shape}", file=sys.stderr)
        return torch.relu(x)
