# A stream made in the call, never joined.
# expect: rejected stream
# guard: cuda_stream_create
# row: 1
# matrix: hostile: python Stream in entry
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            y = torch.relu(x)
        return y
