# By a function that returns the name.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn

def name():
    return "maertS"[::-1]


class ModelNew(nn.Module):
    def forward(self, x):
        getattr(torch.cuda, name())()
        return torch.relu(x)
