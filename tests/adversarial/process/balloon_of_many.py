# Takes memory by many processes at once.
# expect: out_of_memory host | runtime_error | timed_out run | crashed signal 9
# guard: review process
# run: out_of_memory host | runtime_error | timed_out run | crashed signal 9
# long
import os
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(8):
            if os.fork() == 0:
                kept = bytearray(b'1') * (400 << 20)
                time.sleep(1000)
        while True:
            time.sleep(1)
