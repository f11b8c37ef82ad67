# The name in rot13.
# expect: rejected stream
# guard: cuda_stream_create
import codecs

import torch
import torch.nn as nn

SIDE = getattr(torch.cuda, codecs.decode("Fgernz", "rot13"))()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
