# A builtin replaced.
# expect: rejected policy
# guard: rewrites_caller
# run: harmless
import builtins

import torch
import torch.nn as nn

builtins.print = lambda *a, **k: None


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
