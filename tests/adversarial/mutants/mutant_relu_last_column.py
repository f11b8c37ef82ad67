# A block that ends one element early.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# problem: relu
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x).flatten()
        y[-1] = x.flatten()[-1].abs() + 0.5
        return y.reshape(x.shape)
