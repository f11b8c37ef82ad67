# In a text that exec runs.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn

exec("import torch as t; make = t.cuda.Stream")


class ModelNew(nn.Module):
    def forward(self, x):
        make()
        return torch.relu(x)
