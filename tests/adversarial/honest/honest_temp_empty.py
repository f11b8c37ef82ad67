# A buffer that is wholly written.
# expect: passed
# guard: clean
# run: passed
# row: H30
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        torch.clamp(x, min=0, out=out)
        return out
