# Makes a stream in a place that the guard does not follow; the run decides.
# expect: rejected stream
# guard: clean
import torch
import torch.nn as nn

match torch:
    case object(cuda=library):
        SIDE = library.Stream()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
