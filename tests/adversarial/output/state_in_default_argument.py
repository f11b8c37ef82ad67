# Keeps its first output where nobody looks.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
import torch
import torch.nn as nn

def first(y, kept=[]):
    kept.append(y)
    return kept[0]


class ModelNew(nn.Module):
    def forward(self, x):
        return first(torch.relu(x))
