# The bias is added once for each of two halves.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# problem: linear
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(100, 50)

    def forward(self, x):
        a, b = x[:, :50] @ self.linear.weight[:, :50].t(), x[:, 50:] @ self.linear.weight[:, 50:].t()
        return (a + self.linear.bias) + (b + self.linear.bias)
