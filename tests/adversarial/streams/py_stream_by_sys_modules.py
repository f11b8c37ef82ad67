# By sys.modules.
# expect: rejected stream
# guard: cuda_stream_create
import sys

import torch
import torch.nn as nn

SIDE = sys.modules["torch.cuda"].Stream()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
