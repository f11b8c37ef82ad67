# A single element is left undone.
# expect: wrong_answer value | wrong_answer nan
# guard: clean
# run: wrong_answer value | wrong_answer nan
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        y[-1, -1] = y[-1, -1] + 1
        return y
