# Has its process spin for its next call, which the process of the calibration does not.
# expect: rejected async
# guard: review probes_harness
# run: rejected async
# gpu: no
import sys

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        frame = sys._getframe()
        while not hasattr(frame.f_locals.get("self"), "page"):
            frame = frame.f_back
        page = frame.f_locals["self"].page
        type(page).spin_ns.__set__(page, 1_000_000_000)
        return torch.relu(x)
