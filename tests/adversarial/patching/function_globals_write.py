# A library function's globals rewritten.
# expect: rejected policy
# guard: rewrites_caller
# run: harmless
import torch
import torch.nn as nn

torch.nn.functional.relu.__globals__["torch"] = None


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
