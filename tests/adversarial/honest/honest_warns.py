# A warning and a caught exception.
# expect: passed
# guard: clean
# run: passed
import warnings

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        warnings.warn('slow path')
        try:
            x.no_such_method()
        except AttributeError:
            pass
        return torch.relu(x)
