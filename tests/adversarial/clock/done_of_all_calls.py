# Counts done upward without end.
# expect: rejected async
# guard: host_thread
# run: rejected tamper | wrong_answer value | wrong_answer nan | timed_out run
import ctypes
import threading

import torch
import torch.nn as nn
from harness.children.page import Page


def page():
    for line in open("/proc/self/maps"):
        if "kq-page" in line:
            return Page.from_address(int(line.split("-")[0], 16))
    raise RuntimeError("no page")


def say_done(number):
    there = page()
    there.status = 0
    there.done = number
    at = ctypes.addressof(there) + Page.done.offset
    ctypes.CDLL(None).syscall(202, ctypes.c_void_p(at), 1, 1 << 30, None, None, 0)


def count():
    number = page().done
    while True:
        number = (number + 1) & 0xFFFFFFFF
        page().done = number


threading.Thread(target=count, daemon=True).start()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
