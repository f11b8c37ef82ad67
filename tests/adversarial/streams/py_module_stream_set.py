# A stream made at import, made current in the call.
# expect: rejected stream
# guard: cuda_stream_create
# row: 2
# matrix: hostile: module-level Stream + set_stream
import torch
import torch.nn as nn

SIDE = torch.cuda.Stream()


class ModelNew(nn.Module):
    def forward(self, x):
        torch.cuda.set_stream(SIDE)
        return torch.relu(x)
