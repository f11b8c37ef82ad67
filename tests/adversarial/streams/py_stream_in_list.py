# Taken out of a list by number.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn

TOOLS = [torch.relu, torch.cuda.Stream]


class ModelNew(nn.Module):
    def forward(self, x):
        TOOLS[1]()
        return TOOLS[0](x)
