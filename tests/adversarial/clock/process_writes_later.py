# Leaves half of its output to a process that it has forked and that shares the memory.
# expect: rejected async | wrong_answer value | wrong_answer nan
# guard: review process
# run: rejected async | wrong_answer value | wrong_answer nan
# gpu: no
import os
import time

import torch
import torch.nn as nn

GIVEN, TAKEN = (torch.zeros(64, 64).share_memory_() for _ in range(2))
TURN = torch.zeros(2, dtype=torch.int64).share_memory_()

if os.fork() == 0:
    while True:
        if TURN[0] != TURN[1]:
            time.sleep(0.001)
            TAKEN[32:] = torch.relu(GIVEN[32:])
            TURN[1] = TURN[0]


class ModelNew(nn.Module):
    def forward(self, x):
        GIVEN.copy_(x)
        TURN[0] += 1
        TAKEN[:32] = torch.relu(x[:32])
        return TAKEN
