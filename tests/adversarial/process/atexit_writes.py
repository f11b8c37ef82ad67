# Leaves work for the end of the interpreter.
# expect: harmless
# guard: review process
# run: harmless
import atexit

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        atexit.register(lambda: open('/tmp/kq_marker_atexit', 'w').close())
        return torch.relu(x)
