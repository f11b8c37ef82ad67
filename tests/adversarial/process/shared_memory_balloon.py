# Takes memory that no limit of a process counts.
# expect: out_of_memory host | timed_out run
# guard: clean
# run: out_of_memory host | timed_out run
# row: 67
# long
import mmap

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        room = mmap.mmap(-1, 4 << 30)
        piece = b'1' * (32 << 20)
        for at in range(0, 4 << 30, len(piece)):
            room[at : at + len(piece)] = piece
        return torch.relu(x)
