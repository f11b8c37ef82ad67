# Has a forbidden module among its members, which forward() calls.
# expect: rejected policy
# guard: clean
# run: rejected policy
# problem: own_softmax
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Identity(), nn.Softmax(dim=-1))

    def forward(self, x):
        return self.layers(x)
