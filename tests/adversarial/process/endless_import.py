# An import that never ends.
# expect: timed_out load
# guard: clean
# run: timed_out load
# row: 73
# long
import torch
import torch.nn as nn

while True:
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
