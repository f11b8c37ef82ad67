# Dies as if the kernel had wanted its memory.
# expect: crashed signal 9
# guard: review process
# run: crashed signal 9
import os
import signal

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.kill(os.getpid(), signal.SIGKILL)
