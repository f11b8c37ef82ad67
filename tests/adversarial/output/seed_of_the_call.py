# Draws the inputs anew from the seed that its generators were given.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        guess = torch.randn(64, 64)
        return torch.relu(guess)
