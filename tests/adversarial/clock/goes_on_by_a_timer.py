# Has a timer of the kernel continue its process whenever the judge has stopped it.
# expect: rejected async
# guard: review dynamic_library
# run: rejected async
# gpu: no
import ctypes
import signal

import torch
import torch.nn as nn

CLOCK_MONOTONIC = 1
signal.signal(signal.SIGCONT, lambda *_: None)
libc = ctypes.CDLL(None)
event = (ctypes.c_int * 16)()
event[2] = signal.SIGCONT  # sigev_signo; sigev_notify is SIGEV_SIGNAL
timer = ctypes.c_void_p()
libc.timer_create(CLOCK_MONOTONIC, event, ctypes.byref(timer))
every = (ctypes.c_long * 4)(0, 200_000, 0, 200_000)
libc.timer_settime(timer, 0, every, None)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
