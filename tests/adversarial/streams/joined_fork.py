# A right fork and join over two streams: against the policy all the same.
# expect: rejected stream
# guard: cuda_stream_create
# allowed: passed
# row: 15
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        current = torch.cuda.current_stream()
        side = torch.cuda.Stream()
        side.wait_stream(current)
        half = x.shape[0] // 2
        with torch.cuda.stream(side):
            low = torch.relu(x[:half])
        high = torch.relu(x[half:])
        current.wait_stream(side)
        return torch.cat([low, high])
