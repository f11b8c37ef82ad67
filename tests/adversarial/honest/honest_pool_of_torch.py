# Works in torch's own pool of threads, which spins for a while after each call.
# expect: passed
# guard: clean
# run: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        many = torch.ones(512, 512) @ torch.ones(512, 512)
        return torch.relu(x) + (many[0, 0].to(x.device) - 512)
