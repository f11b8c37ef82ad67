# Clears its input, and returns zeros: right for the input that it left.
# expect: wrong_answer value | wrong_answer mutated_input
# guard: clean
# run: wrong_answer value | wrong_answer mutated_input
# row: 38
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        x.zero_()
        return torch.zeros_like(x)
