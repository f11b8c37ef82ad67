# Says done when most of the output is there, and writes the rest while the judge reads the beginning. The timed interval
# ends when the process is stopped, so what is written until then is paid for.
# expect: harmless | wrong_answer nan | wrong_answer value | rejected tamper
# guard: review probes_harness
# run: harmless | wrong_answer nan | wrong_answer value | rejected tamper
# gpu: no
import sys

import torch
import torch.nn as nn


def serving():
    frame = sys._getframe()
    while frame.f_code.co_name != "serve" or "address" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["self"], frame.f_locals["runtime"], frame.f_locals["address"]


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        right = torch.relu(x)
        if self.calls < 4:
            return right
        y = torch.empty_like(right)
        channel, runtime, address = serving()
        role = sys._getframe(1)
        while "self" not in role.f_locals or not hasattr(role.f_locals["self"], "put_outputs"):
            role = role.f_back
        role.f_locals["self"].put_outputs([y])
        channel.answer_ok()
        runtime.complete(address, channel._last_go)
        y.copy_(right)
        return y
