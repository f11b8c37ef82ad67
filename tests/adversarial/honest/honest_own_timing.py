# Times itself, for a choice between two ways.
# expect: passed
# guard: clean
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        t = time.perf_counter()
        start.record()
        y = torch.relu(x)
        end.record()
        self.took_ms = time.perf_counter() - t
        return y
