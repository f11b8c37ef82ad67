# Writes the word that only the judge writes.
# expect: harmless | timed_out run | rejected async | rejected tamper | wrong_answer value | wrong_answer nan
# guard: review probes_harness
# run: harmless | timed_out run | rejected async | rejected tamper | wrong_answer value | wrong_answer nan
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
        page().go += 5
        return torch.relu(x)
