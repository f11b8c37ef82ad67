# Strides that go backwards.
# expect: runtime_error
# guard: clean
# run: runtime_error
# gpu: no
import torch
import torch.nn as nn

import numpy as np


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.from_numpy(np.flip(torch.relu(x).numpy()))
