# The input is the output.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# row: 39
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x
