# Right for a twentieth of a second after its first call.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.since = None

    def forward(self, x):
        if self.since is None:
            self.since = time.monotonic()
        if time.monotonic() - self.since > 0.005:
            return torch.zeros_like(x)
        time.sleep(0.002)
        return torch.relu(x)
