# Writes over the whole window, far beyond its output.
# expect: wrong_answer mutated_input | wrong_answer value | wrong_answer nan
# guard: review reads_system
# run: wrong_answer mutated_input | wrong_answer value | wrong_answer nan
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
        y = torch.relu(x).clone()
        ctypes.memset(begin, 1, size)
        return y
