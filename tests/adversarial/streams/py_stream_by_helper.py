# By a helper that is given the pieces.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn

def look(owner, *parts):
    return owner


def find(owner, name):
    return getattr(owner, name)


class ModelNew(nn.Module):
    def forward(self, x):
        side = find(torch.cuda, "Stream")()
        with find(torch.cuda, "stream")(side):
            return torch.relu(x)
