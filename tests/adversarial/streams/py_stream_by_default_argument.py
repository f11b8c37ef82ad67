# By a default argument.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn

def run(x, make=torch.cuda.Stream):
    with torch.cuda.stream(make()):
        return torch.relu(x)


class ModelNew(nn.Module):
    def forward(self, x):
        return run(x)
