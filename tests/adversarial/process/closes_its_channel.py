# Closes the socket it was given.
# expect: harmless | runtime_error | rejected tamper
# guard: clean
# run: harmless | runtime_error | rejected tamper
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            os.close(3)
        except OSError:
            pass
        return torch.relu(x)
