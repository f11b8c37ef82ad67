# Writes one byte behind its output.
# expect: wrong_answer mutated_input | harmless
# guard: review reads_system
# run: wrong_answer mutated_input | harmless
# gpu: no
import ctypes

import torch
import torch.nn as nn

def window():
    for line in open("/proc/self/maps"):
        if "memfd" in line and "kq-page" not in line:
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            return begin, end - begin
    raise RuntimeError("no window")


class ModelNew(nn.Module):
    def forward(self, x):
        begin, size = window()
        ctypes.memset(begin + size - 1, 1, 1)
        return torch.relu(x)
