# Claims that it took a nanosecond.
# expect: harmless | rejected tamper
# guard: review probes_harness
# run: harmless | rejected tamper
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
        page().event_ns = 1
        return torch.relu(x)
