# Memory that nobody has written, in the hope of what was there before.
# expect: wrong_answer value | wrong_answer nan
# guard: clean
# run: wrong_answer value | wrong_answer nan
# row: 34
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
