# A message that speaks of streams.
# expect: passed
# guard: clean
# run: passed
# row: H17
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        if x.numel() == 0:
            raise RuntimeError("cudaStreamCreate() would not help: the stream of values is empty; see torch.cuda.Stream()")
        return torch.relu(x)
