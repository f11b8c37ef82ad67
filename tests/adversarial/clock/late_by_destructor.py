# An object that does the work when it is thrown away, after the call.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
import torch
import torch.nn as nn

LATER = []


class Late:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __del__(self):
        self.y.copy_(torch.relu(self.x))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        LATER.append(Late(x, y))
        if len(LATER) > 1:
            LATER.pop(0)
        return y
