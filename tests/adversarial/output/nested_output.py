# Lists in lists, a thousand deep.
# expect: wrong_answer
# guard: clean
# run: wrong_answer shape
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        for _ in range(1000):
            y = [y]
        return y
