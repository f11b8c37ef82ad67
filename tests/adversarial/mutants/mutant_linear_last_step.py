# The last step of the sum is left out.
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
        return x[:, :-1] @ self.linear.weight[:, :-1].t() + self.linear.bias
