# Raises what a user's key would.
# expect: load_failed
# guard: clean
# run: load_failed
import torch
import torch.nn as nn

raise KeyboardInterrupt


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
