# Computes every second call only where several are timed together.
# expect: wrong_answer value | wrong_answer nan
# guard: review probes_harness
# run: wrong_answer value | wrong_answer nan
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
        if there.command == Command.BURST and (there.turn >> 16) % 2 == 0:
            return self.last
        self.last = torch.relu(x)
        return self.last
