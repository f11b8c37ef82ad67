"""Rejected: the stream comes in by way of an aliased module."""

import torch.cuda as gpu
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        self.norm = nn.LayerNorm(hidden, eps=eps)

    def forward(self, x, residual):
        lane = gpu.Stream()
        lane.wait_stream(gpu.current_stream())
        with gpu.stream(lane):
            total = x + residual
        return self.norm(total)
