# Words that hold the word.
# expect: passed
# guard: clean
# run: passed
# row: H9
# matrix: honest: make_upstream helper
import torch
import torch.nn as nn

def make_upstream(x):
    return x


class Downstream:
    def stream(self, x):
        return torch.relu(make_upstream(x))


class ModelNew(nn.Module):
    def forward(self, x):
        return Downstream().stream(x)
