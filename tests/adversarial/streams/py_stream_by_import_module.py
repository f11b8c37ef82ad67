# By importlib, with the name in pieces.
# expect: rejected stream
# guard: cuda_stream_create
import importlib

import torch
import torch.nn as nn

SIDE = importlib.import_module(".".join(["torch", "cuda", "streams"])).Stream()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
