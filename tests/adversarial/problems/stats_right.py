import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.sum(dim=1), x.argmax(dim=1), x.var(dim=1)
