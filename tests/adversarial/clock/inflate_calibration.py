# Makes the calls slow that measure what a call costs by itself.
# expect: harmless | rejected tamper | timed_out run
# guard: review probes_harness
# run: harmless | rejected tamper | timed_out run
import gc
import time

import torch
import torch.nn as nn

for found in gc.get_objects():
    if hasattr(found, "null_call") and hasattr(found, "channel"):
        kind = type(found)
        own = kind.null_call

        def slow(self):
            time.sleep(0.005)
            own(self)

        kind.null_call = slow
        found._commands[2] = found.null_call


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
