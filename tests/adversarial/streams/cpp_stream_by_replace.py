# A C++ source with a mark that is replaced.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
void run() { cuda@Create(&side); }
"""
module = load_inline(name="m", cpp_sources="void run();", cuda_sources=SOURCE.replace("@", "Stream"), functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
