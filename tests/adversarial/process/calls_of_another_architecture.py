# A system call by the numbers of 32 bits.
# expect: crashed signal 31
# guard: review dynamic_library
# run: crashed signal 31
import ctypes
import mmap

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        code = mmap.mmap(-1, 4096, prot=7)
        code.write(bytes.fromhex('b814000000cd80c3'))
        at = ctypes.addressof(ctypes.c_char.from_buffer(code))
        ctypes.CFUNCTYPE(ctypes.c_int)(at)()
        return torch.relu(x)
