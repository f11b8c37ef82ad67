# A handle from elsewhere, wrapped.
# expect: rejected stream
# guard: cuda_stream_external
# row: 4
# matrix: hostile: ExternalStream
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        runtime = ctypes.CDLL("libcudart.so")
        handle = ctypes.c_void_p()
        getattr(runtime, "cudaStream" + "CreateWithFlags")(ctypes.byref(handle), 1)
        with torch.cuda.stream(torch.cuda.ExternalStream(handle.value)):
            return torch.relu(x)
