# Leaves a process behind that holds the log open.
# expect: harmless
# guard: review process
# run: harmless
import os
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        if os.fork() == 0:
            os.setsid()
            while True:
                time.sleep(1)
        return torch.relu(x)
