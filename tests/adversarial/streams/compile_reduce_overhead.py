# torch.compile with CUDA graphs.
# expect: rejected stream
# guard: cuda_graph
import torch
import torch.nn as nn

OPTIONS = {"mode": "reduce-" + "overhead"}
relu = torch.compile(torch.relu, **OPTIONS)


class ModelNew(nn.Module):
    def forward(self, x):
        return relu(x)
