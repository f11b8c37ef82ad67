# Comes back with another current stream.
# expect: rejected stream
# guard: cuda_stream_context
# row: 19
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        torch.cuda.set_stream(torch.Stream(device="cuda"))
        return torch.relu(x)
