# Turns its call into a null call.
# expect: wrong_answer value | wrong_answer nan | wrong_answer shape | rejected tamper
# guard: review probes_harness
# run: wrong_answer value | wrong_answer nan | wrong_answer shape | rejected tamper
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
        page().command = 2
        return torch.zeros_like(x)
