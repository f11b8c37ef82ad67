# Takes memory and writes to it.
# expect: out_of_memory host
# guard: clean
# run: out_of_memory host
# row: 67
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        kept = []
        while True:
            kept.append(bytearray(b'1') * (16 << 20))
