import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64))
        self.register_buffer("mean", torch.randn(128))

    def forward(self, x):
        mask = torch.tril(torch.ones(64, 64, device=x.device))
        return x * mask * self.weight, self.weight.clone(), mask, x.clone(), self.mean[:64].clone()
