# The name out of character codes.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn

NAME = bytes([83, 116, 114, 101, 97, 109]).decode()


class ModelNew(nn.Module):
    def forward(self, x):
        with torch.cuda.StreamContext(getattr(torch.cuda, NAME)()):
            return torch.relu(x)
