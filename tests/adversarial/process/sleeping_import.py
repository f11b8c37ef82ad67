# An import that sleeps.
# expect: timed_out load
# guard: clean
# run: timed_out load
# long
import time

import torch
import torch.nn as nn

time.sleep(1000)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
