"""Honest: the word stream is in comments, strings and names only, as in a CUDA stream that nobody makes."""

import torch
import torch.nn as nn

UPSTREAM = "torch.cuda.Stream() is what the guard looks for; here it is only text"


class ModelNew(nn.Module):
    def __init__(self, alpha, beta):
        super().__init__()
        self.alpha = alpha
        self.beta = beta

    def forward(self, x, y):
        # Reading the current stream is fine: with torch.cuda.stream(side) would not be.
        handle = torch.cuda.current_stream().cuda_stream if torch.cuda.is_available() else 0
        stream_k = self.alpha * x
        stream = self.beta * y
        return stream_k + stream if handle >= 0 else stream
