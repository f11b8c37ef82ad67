# A dictionary.
# expect: runtime_error
# guard: clean
# run: runtime_error
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return {'out': torch.relu(x)}
