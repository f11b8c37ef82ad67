# Forks without end.
# expect: timed_out run | runtime_error | crashed signal 9 | out_of_memory host
# guard: review process
# run: timed_out run | runtime_error | crashed signal 9 | out_of_memory host
# row: 64
# long
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            try:
                os.fork()
            except OSError:
                pass
