# A stream of numba's.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn
from numba import cuda

SIDE = cuda.stream()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
