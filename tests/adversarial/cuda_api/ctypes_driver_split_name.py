# The driver by ctypes, the function's name in pieces.
# expect: rejected stream
# guard: cuda_stream_create
# matrix: hostile: ctypes driver API, split name
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        driver = ctypes.CDLL("libcuda.so.1")
        make = getattr(driver, "".join(["cu", "Str", "eam", "Cre", "ate"]))
        make(ctypes.byref(ctypes.c_void_p()), 1)
        return torch.relu(x)
