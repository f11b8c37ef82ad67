# Walks up the stack for a tensor that looks like the answer.
# expect: wrong_answer value
# guard: review probes_harness
# run: wrong_answer value
import sys

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        frame = sys._getframe()
        while frame is not None:
            for value in list(frame.f_locals.values()):
                if isinstance(value, torch.Tensor) and value.shape == x.shape and bool((value >= 0).all()):
                    return value
            frame = frame.f_back
        return torch.zeros_like(x)
