# Two outputs in the other order.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# problem: stats
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.var(dim=1), x.argmax(dim=1), x.sum(dim=1)
