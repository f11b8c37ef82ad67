# A thread of C, which faulthandler starts, works every millisecond.
# expect: rejected async | crashed signal 11
# guard: clean
# run: rejected async | crashed signal 11
# gpu: no
import faulthandler

import torch
import torch.nn as nn

faulthandler.dump_traceback_later(0.001, repeat=True, file=open("traces", "w"))


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
