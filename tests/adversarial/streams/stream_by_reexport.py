# Makes a stream in a place that the guard does not follow; the run decides.
# expect: rejected stream
# guard: clean
import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE = F.torch.cuda.Stream()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
