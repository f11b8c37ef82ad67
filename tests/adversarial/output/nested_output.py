# Lists in lists, a thousand deep.
# expect: runtime_error
# guard: clean
# run: runtime_error
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        for _ in range(1000):
            y = [y]
        return y
