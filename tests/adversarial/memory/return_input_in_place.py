# The right values, in the input itself.
# expect: wrong_answer mutated_input
# guard: clean
# run: wrong_answer mutated_input
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clamp_(min=0)
