# The CUDA runtime by ctypes.
# expect: rejected stream
# guard: cuda_stream_create
# matrix: hostile: ctypes runtime API
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        runtime = ctypes.CDLL("libcudart.so.13")
        handle = ctypes.c_void_p()
        runtime.cudaStreamCreate(ctypes.byref(handle))
        return torch.relu(x)
