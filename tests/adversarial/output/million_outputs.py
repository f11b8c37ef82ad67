# A million times the right output.
# expect: wrong_answer shape
# guard: clean
# run: wrong_answer shape
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return [torch.relu(x)] * 1_000_000
