# Closes every descriptor.
# expect: harmless | runtime_error | rejected tamper
# guard: clean
# run: harmless | runtime_error | rejected tamper
# gpu: harmless | runtime_error | rejected tamper | gpu_fault
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.closerange(0, 4096)
        return torch.relu(x)
