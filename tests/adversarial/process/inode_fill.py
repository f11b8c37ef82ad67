# Makes files until there are none left to make.
# expect: runtime_error | timed_out run
# guard: clean
# run: runtime_error | timed_out run
# row: 66
# long
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for number in range(10**9):
            os.close(os.open(f'/tmp/kq_marker_{number}', os.O_CREAT))
