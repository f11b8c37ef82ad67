# An output that does not lie in one piece.
# expect: passed
# guard: clean
# run: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        room = torch.empty(64, 128)
        room[:, ::2] = torch.relu(x)
        return room[:, ::2]
