# A grandchild of its own session, which outlives it.
# expect: harmless
# guard: review process
# run: harmless
import os
import signal
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for number in range(1, 65):
                    try:
                        signal.signal(number, signal.SIG_IGN)
                    except (OSError, ValueError):
                        pass
                while True:
                    time.sleep(1)
            os._exit(0)
        return torch.relu(x)
