# A model whose state is no dictionary of tensors.
# expect: harmless | load_failed | runtime_error
# guard: clean
# run: harmless | load_failed | runtime_error
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = 1

    def forward(self, x):
        return torch.relu(x)

    def state_dict(self, *args, **kwargs):
        return {1: 'x', 'y': self, None: None}
