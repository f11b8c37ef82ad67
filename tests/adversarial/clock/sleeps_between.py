# Sleeps in every call: the clock counts it.
# expect: harmless
# guard: clean
# run: harmless
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        time.sleep(0.02)
        return torch.relu(x)
