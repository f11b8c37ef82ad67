# Modules are put into eval mode; nothing is evaluated.
# expect: passed
# guard: clean
# run: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x):
        self.act.eval()
        return self.act(x)
