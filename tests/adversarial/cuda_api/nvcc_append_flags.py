# A flag for the compiler by the environment.
# expect: rejected policy
# guard: tool_environment
import os

import torch
import torch.nn as nn

os.environ["NVCC_APPEND_FLAGS"] = "--default-stream per-thread"


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
