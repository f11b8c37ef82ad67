"""Imports and constructs, then raises when called."""

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        raise RuntimeError(f"relu of a {x.dim()}-dimensional tensor is left as an exercise")
