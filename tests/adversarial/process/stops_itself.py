# Stops its own process.
# expect: timed_out run
# guard: review process
# run: timed_out run
import os
import signal

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.kill(os.getpid(), signal.SIGSTOP)
        return torch.relu(x)
