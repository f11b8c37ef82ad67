# A clock that stands still.
# expect: rejected policy
# guard: patches_clock
# run: harmless
# row: 27
import time

import torch
import torch.nn as nn

NOW = time.perf_counter()
time.perf_counter = lambda: NOW
time.monotonic = lambda: NOW


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
