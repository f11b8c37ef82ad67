# The sum leaves the last elements out.
# expect: wrong_answer value | wrong_answer nan
# guard: clean
# run: wrong_answer value | wrong_answer nan
# problem: softmax
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        return e / e[:, :-3].sum(-1, keepdim=True)
