# CUDA graphs by inductor's configuration.
# expect: rejected stream
# guard: cuda_graph
import torch
import torch.nn as nn
from torch import _inductor as inductor

inductor.config.triton.cudagraphs = True
relu = torch.compile(torch.relu)


class ModelNew(nn.Module):
    def forward(self, x):
        return relu(x)
