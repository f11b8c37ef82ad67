# A tensor over memory that is unmapped by then.
# expect: crashed signal 11 | rejected tamper
# guard: review dynamic_library
# run: crashed signal 11 | rejected tamper
# gpu: no
import ctypes
import mmap

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        room = mmap.mmap(-1, x.numel() * 4)
        address = ctypes.addressof(ctypes.c_char.from_buffer(room))
        y = torch.frombuffer((ctypes.c_float * x.numel()).from_address(address), dtype=torch.float32).reshape(x.shape)
        ctypes.CDLL(None).munmap(ctypes.c_void_p(address), ctypes.c_size_t(x.numel() * 4))
        return y
