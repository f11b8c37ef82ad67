# Takes nine tenths of the memory that it may have.
# expect: passed
# guard: clean
# run: passed
# gpu: no
# row: H41
# long
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        room = torch.ones(110 << 20)
        return torch.relu(x) * room[:1]
