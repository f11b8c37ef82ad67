# In a text that eval evaluates.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        eval("torch.cuda.Str" + "eam")()
        return torch.relu(x)
