# Takes the window away.
# expect: crashed signal 11 | wrong_answer value
# guard: review reads_system
# run: crashed signal 11 | wrong_answer value
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
        ctypes.CDLL(None).munmap(ctypes.c_void_p(begin), ctypes.c_size_t(size))
        return torch.relu(torch.ones(64, 64))
