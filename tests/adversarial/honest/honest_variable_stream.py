# A list that is called stream.
# expect: passed
# guard: clean
# run: passed
# row: H3
# matrix: honest: variable named stream
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        stream = []
        stream.append(torch.relu(x))
        return stream.pop()
