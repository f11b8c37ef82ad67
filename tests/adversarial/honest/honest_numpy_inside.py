# Computes by numpy.
# expect: passed
# guard: clean
# run: passed
# gpu: no
import torch
import torch.nn as nn

import numpy as np


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.from_numpy(np.maximum(x.numpy(), 0))
