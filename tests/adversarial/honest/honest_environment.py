# Variables that torch itself reads.
# expect: passed
# guard: clean
# run: passed
import os

import torch
import torch.nn as nn

os.environ["TORCH_CUDA_ARCH_LIST"] = "9.0"
os.environ.setdefault("MAX_JOBS", "4")


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
