# A C++ source with a hole where the name goes on: for review, since it is only known when it runs.
# expect: rejected stream
# guard: review computed_source
import os

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = f"""
#include <torch/extension.h>
void run() {{ cudaStream{os.environ.get("LANE", "")}Create(&side); }}
"""
module = load_inline(name="m", cpp_sources="void run();", cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
