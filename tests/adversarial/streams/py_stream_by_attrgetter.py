# By operator.attrgetter.
# expect: rejected stream
# guard: cuda_stream_create
import operator

import torch
import torch.nn as nn

SIDE = operator.attrgetter("cuda.Stream")(torch)()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
