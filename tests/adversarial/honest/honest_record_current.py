# A tensor recorded on the current stream.
# expect: passed
# guard: clean
# row: H11
# matrix: honest: record_stream(current)
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        y.record_stream(torch.cuda.current_stream())
        return y
