# A filter of its own that refuses to wake anybody.
# expect: harmless | timed_out run | crashed signal 6 | runtime_error
# guard: review dynamic_library
# run: harmless | timed_out run | crashed signal 6 | runtime_error
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        class Filter(ctypes.Structure):
            _fields_ = [('code', ctypes.c_uint16), ('jt', ctypes.c_uint8), ('jf', ctypes.c_uint8), ('k', ctypes.c_uint32)]

        class Program(ctypes.Structure):
            _fields_ = [('count', ctypes.c_uint16), ('filters', ctypes.POINTER(Filter))]

        rules = (Filter * 4)(Filter(0x20, 0, 0, 0), Filter(0x15, 0, 1, 202), Filter(0x06, 0, 0, 0x50001), Filter(0x06, 0, 0, 0x7FFF0000))
        ctypes.CDLL(None).prctl(22, 2, ctypes.byref(Program(4, rules)))
        return torch.relu(x)
