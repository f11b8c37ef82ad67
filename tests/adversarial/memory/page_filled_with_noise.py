# Fills the whole page with noise.
# expect: rejected tamper | timed_out run | wrong_answer value | wrong_answer nan | wrong_answer shape | wrong_answer dtype | runtime_error | crashed signal 11 | crashed signal 6
# guard: review probes_harness
# run: rejected tamper | timed_out run | wrong_answer value | wrong_answer nan | wrong_answer shape | wrong_answer dtype | runtime_error | crashed signal 11 | crashed signal 6
import ctypes
import os

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
        there = page()
        ctypes.memmove(ctypes.addressof(there) + Page.done.offset, os.urandom(ctypes.sizeof(Page) - Page.done.offset), ctypes.sizeof(Page) - Page.done.offset)
        return torch.zeros_like(x)
