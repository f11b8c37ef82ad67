# Of equal maxima the last one.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# problem: stats
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.sum(dim=1), x.shape[1] - 1 - x.flip(1).argmax(dim=1), x.var(dim=1)
