# The variance of a population instead of that of a sample.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# problem: stats
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.sum(dim=1), x.argmax(dim=1), x.var(dim=1, unbiased=False)
