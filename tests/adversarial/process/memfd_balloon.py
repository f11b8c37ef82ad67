# Fills files that lie in memory alone.
# expect: out_of_memory host | runtime_error | timed_out run
# guard: clean
# run: out_of_memory host | runtime_error | timed_out run
# row: 67
# long
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        kept = []
        while True:
            fd = os.memfd_create('kq_marker')
            kept.append(fd)
            for _ in range(16):
                os.write(fd, bytes(16 << 20))
