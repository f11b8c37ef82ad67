# A docstring names who hands out streams.
# expect: passed
# guard: clean
# run: passed
# row: H2
# matrix: honest: docstring names creators
import torch
import torch.nn as nn

def relu(x):
    """Like torch.cuda.Stream() and at::cuda::getStreamFromPool(), which this does not call; cudaStreamCreate(&s); neither."""
    return torch.relu(x)


class ModelNew(nn.Module):
    def forward(self, x):
        return relu(x)
