# By a module that was imported by name.
# expect: rejected policy
# guard: patches_clock
# run: harmless
import importlib

import torch
import torch.nn as nn

setattr(importlib.import_module("torch.cuda"), "synchronize", lambda *a: None)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
