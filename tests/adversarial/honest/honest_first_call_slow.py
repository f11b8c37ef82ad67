# Its first call compiles something.
# expect: passed
# guard: clean
# run: passed
# gpu: no
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = None

    def forward(self, x):
        if self.table is None:
            time.sleep(0.3)
            self.table = torch.zeros(1)
        return torch.maximum(x, self.table)
