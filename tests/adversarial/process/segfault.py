# Reads where nothing is.
# expect: crashed signal 11
# guard: clean
# run: crashed signal 11
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        ctypes.string_at(0)
