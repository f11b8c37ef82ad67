# Traces, reads and borrows from its supervisor.
# expect: harmless
# guard: review dynamic_library
# run: harmless
import ctypes
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        libc = ctypes.CDLL(None, use_errno=True)
        room = ctypes.create_string_buffer(64)
        vector = (ctypes.c_uint64 * 2)(ctypes.addressof(room), 64)
        won = libc.ptrace(16, 1, None, None) == 0
        won |= libc.ptrace(0x4206, 1, None, None) == 0
        won |= libc.process_vm_readv(1, vector, 1, vector, 1, 0) >= 0
        pidfd = libc.syscall(434, 1, 0)
        won |= pidfd >= 0 and libc.syscall(438, pidfd, 4, 0) >= 0
        won |= libc.syscall(312, 1, os.getpid(), 2, 3, 4) >= 0
        return torch.relu(x) + float(won)
