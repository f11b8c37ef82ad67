# Works on every input that lies there, asked for or not, where several calls are timed together.
# expect: rejected tamper | wrong_answer value
# guard: review probes_harness
# run: rejected tamper | wrong_answer value
# gpu: no
import ctypes

import torch
import torch.nn as nn
from harness.children.page import Command, Page


def page():
    for line in open("/proc/self/maps"):
        if "kq-page" in line:
            return Page.from_address(int(line.split("-")[0], 16))
    raise RuntimeError("no page")


class ModelNew(nn.Module):
    def forward(self, x):
        there = page()
        if there.command == Command.BURST:
            slot, out = there.turn & 0xFFFF, there.outputs[0]
            window = x.data_ptr() - there.inputs[0].offset - slot * there.slot_bytes
            for ahead in range(there.slots):
                ctypes.memset(window + ahead * there.slot_bytes + out.offset, 0, out.bytes)
        return torch.relu(x)
