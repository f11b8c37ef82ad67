# A plain capture and replay: its own stream, and stale inputs.
# expect: rejected stream
# guard: cuda_graph
# matrix: policy: plain graph replay
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        g = torch.cuda.CUDAGraph()
        g.capture_begin()
        y = torch.relu(x)
        g.capture_end()
        g.replay()
        return y
