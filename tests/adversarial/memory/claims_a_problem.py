# Claims that the problem is invalid.
# expect: runtime_error | wrong_answer value | wrong_answer nan
# guard: review probes_harness
# run: runtime_error | wrong_answer value | wrong_answer nan
import gc

import torch
import torch.nn as nn
from harness.children.page import Page


def page():
    for line in open("/proc/self/maps"):
        if "kq-page" in line:
            return Page.from_address(int(line.split("-")[0], 16))
    raise RuntimeError("no page")


class Lie:
    on = False


lie = Lie()


def answer_ok(self, note=""):
    self.page.status, self.page.failure, self.page.text_bytes = (1, 7, 0) if lie.on else (0, 0, 0)


for found in gc.get_objects():
    if type(found).__name__ == "Channel":
        type(found).answer_ok = answer_ok


class ModelNew(nn.Module):
    def forward(self, x):
        lie.on = True
        return torch.zeros_like(x)
