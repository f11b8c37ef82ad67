# A stream of the driver's own Python bindings.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn
from cuda.bindings import driver


class ModelNew(nn.Module):
    def forward(self, x):
        driver.cuStreamCreate(1)
        return torch.relu(x)
