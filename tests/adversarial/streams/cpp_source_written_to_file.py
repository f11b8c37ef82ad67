# A C++ source that is written to a file first.
# expect: rejected stream
# guard: cuda_stream_create
from pathlib import Path

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load

Path("side.cu").write_text("""
#include <torch/extension.h>
void run() { cudaStream_t s; cudaStreamCreate(&s); }
""")
module = load(name="side", sources=["side.cu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
