# A lock around a cache.
# expect: passed
# guard: clean
# run: passed
# row: H19
# matrix: honest: threading.Lock
import threading

import torch
import torch.nn as nn

LOCK = threading.Lock()
LOCAL = threading.local()
SEEN = {}


class ModelNew(nn.Module):
    def forward(self, x):
        with LOCK:
            SEEN[x.shape] = True
        return torch.relu(x)
