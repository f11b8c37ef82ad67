# A generator without end.
# expect: wrong_answer
# guard: clean
# run: wrong_answer shape
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return (torch.relu(x) for _ in iter(int, 1))
