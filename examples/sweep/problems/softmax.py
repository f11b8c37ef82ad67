"""Softmax over rows of 200. Every eighth row is so large that exp overflows unless the maximum is taken off first."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        shifted = x - x.max(dim=1, keepdim=True).values
        weights = torch.exp(shifted)
        return weights / weights.sum(dim=1, keepdim=True)


def get_inputs():
    x = torch.randn(512, 200) * 2
    x[::8] += 120
    return [x]


def get_init_inputs():
    return []
