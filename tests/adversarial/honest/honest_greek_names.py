# Names in Greek, which read as they run.
# expect: passed
# guard: clean
# run: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        α = 1.0
        λ_max = 0.0
        return torch.clamp(α * x, min=λ_max)
