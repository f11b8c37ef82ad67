# torch.compile in its default mode, and one without graphs.
# expect: passed
# guard: clean
# row: H42
import torch
import torch.nn as nn

relu = torch.compile(torch.relu)
other = torch.compile(torch.relu, mode="max-autotune-no-cudagraphs", fullgraph=True, dynamic=False)


class ModelNew(nn.Module):
    def forward(self, x):
        return other(x) if x.dim() == 2 else relu(x)
