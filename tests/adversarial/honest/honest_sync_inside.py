# Synchronises before it returns.
# expect: passed
# guard: clean
# row: H12
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        torch.cuda.synchronize()
        torch.cuda.current_stream().synchronize()
        return y
