# The caller's globals rewritten.
# expect: rejected policy
# guard: rewrites_caller
# run: wrong_answer value
# row: 29
import sys

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        frame = sys._getframe(1)
        while frame is not None:
            frame.f_globals["torch"] = None
            frame = frame.f_back
        return x
