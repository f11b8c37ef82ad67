# The class under another name.
# expect: rejected stream
# guard: cuda_stream_create
# matrix: hostile: alias of Stream class
import torch
import torch.nn as nn

K = torch.cuda.Stream


class ModelNew(nn.Module):
    def forward(self, x):
        side = K()
        with torch.cuda.stream(side):
            return torch.relu(x)
