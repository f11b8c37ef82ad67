# A stream of cupy's.
# expect: rejected stream
# guard: cuda_stream_create
# matrix: hostile: cupy non-blocking stream
import cupy
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        with cupy.cuda.Stream(non_blocking=True):
            return torch.relu(x)
