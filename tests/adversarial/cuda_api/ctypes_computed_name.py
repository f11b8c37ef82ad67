# The driver by ctypes, the function's name out of the environment: no guard can tell; the audit does.
# expect: rejected stream
# guard: review computed_name
import ctypes
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        driver = ctypes.CDLL("libcuda.so.1")
        stream = ctypes.c_void_p()
        getattr(driver, os.environ.get("LANE", "cuStre") + "amCreate")(ctypes.byref(stream), 1)
        return torch.relu(x)
