# By a star import.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn
from torch.cuda.streams import *

SIDE = Stream()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
