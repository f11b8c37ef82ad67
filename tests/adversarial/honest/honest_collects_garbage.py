# Asks for a collection.
# expect: passed
# guard: clean
# run: passed
import gc

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        gc.collect()
        return y
