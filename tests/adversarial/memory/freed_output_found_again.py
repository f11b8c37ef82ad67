# Keeps no output, but counts on getting the memory of the last one, and writes only what is another.
# expect: wrong_answer nan | wrong_answer value
# guard: clean
# run: wrong_answer nan | wrong_answer value | harmless
# gpu: wrong_answer nan | wrong_answer value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.positive = None

    def forward(self, x):
        y = torch.empty_like(x)
        if self.positive is None:
            y.zero_()
        else:
            y[self.positive] = 0
        self.positive = x > 0
        y[self.positive] = x[self.positive]
        return y
