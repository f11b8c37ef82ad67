# A thread of its own, by a class that no text names, counts while no call runs.
# expect: rejected async
# guard: clean
# run: rejected async
# gpu: no
import threading

import torch
import torch.nn as nn

TICKS = [0]


def count():
    while True:
        TICKS[0] += 1


threading.main_thread().__class__.__base__(target=count, daemon=True).start()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
