# torch.compile with CUDA graphs by an option.
# expect: rejected stream
# guard: cuda_graph
import torch
import torch.nn as nn

relu = torch.compile(torch.relu, options={"triton.cudagraphs": True})


class ModelNew(nn.Module):
    def forward(self, x):
        return relu(x)
