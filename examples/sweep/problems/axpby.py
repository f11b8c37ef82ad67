"""Two inputs: alpha * x + beta * y. Writing the result into y is tempting, and wrong: y belongs to the caller."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, alpha, beta):
        super().__init__()
        self.alpha = alpha
        self.beta = beta

    def forward(self, x, y):
        return self.alpha * x + self.beta * y


def get_inputs():
    return [torch.randn(512, 1000), torch.randn(512, 1000)]


def get_init_inputs():
    return [2.0, 0.5]
