# Ends its process with success, at import.
# expect: load_failed
# guard: review process
# run: load_failed
# row: 56
import os

import torch
import torch.nn as nn

os._exit(0)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
