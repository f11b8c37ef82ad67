# Makes the page one to read only.
# expect: crashed signal 11
# guard: review probes_harness
# run: crashed signal 11
import ctypes

import torch
import torch.nn as nn
from harness.children.page import Page


def page():
    for line in open("/proc/self/maps"):
        if "kq-page" in line:
            return Page.from_address(int(line.split("-")[0], 16))
    raise RuntimeError("no page")


class ModelNew(nn.Module):
    def forward(self, x):
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(ctypes.addressof(page())), ctypes.c_size_t(4096), 1)
        return torch.relu(x)
