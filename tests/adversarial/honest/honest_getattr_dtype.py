# An attribute of torch by a name that is computed.
# expect: passed
# guard: clean
# run: passed
import torch
import torch.nn as nn

def dtype_of(name):
    return getattr(torch, name.replace("fp", "float"))


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x.to(dtype_of(f"fp{16 * 2}")))
