# The exponential of large numbers, without their maximum.
# expect: wrong_answer nan | wrong_answer value
# guard: clean
# run: wrong_answer nan | wrong_answer value
# problem: softmax
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        e = torch.exp(x)
        return e / e.sum(-1, keepdim=True)
