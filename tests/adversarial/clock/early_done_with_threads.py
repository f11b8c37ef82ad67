# A thread of its own says done as soon as it is asked.
# expect: rejected async
# guard: host_thread
# run: wrong_answer value | wrong_answer nan | rejected async | rejected tamper
import ctypes
import threading
import time

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


def hurry():
    there = page()
    while True:
        if there.command == 6 and there.done != there.go:
            say_done(there.go)


threading.Thread(target=hurry, daemon=True).start()


class ModelNew(nn.Module):
    def forward(self, x):
        time.sleep(0.02)
        return torch.relu(x)
