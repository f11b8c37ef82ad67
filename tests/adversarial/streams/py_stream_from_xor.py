# The name out of bytes that are unmasked one by one.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn

NAME = "".join(chr(c ^ 1) for c in b"Rusd`l")
SIDE = getattr(torch.cuda, NAME)()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
