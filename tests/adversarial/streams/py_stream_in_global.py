# Bound by a function, in a global.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn

LANE = None


def prepare():
    global LANE
    LANE = torch.cuda.Stream


prepare()


class ModelNew(nn.Module):
    def forward(self, x):
        LANE()
        return torch.relu(x)
