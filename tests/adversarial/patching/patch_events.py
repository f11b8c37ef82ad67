# Events that measure nothing.
# expect: rejected policy
# guard: patches_clock
# run: harmless
# row: 26
import torch
import torch.nn as nn

torch.cuda.Event.elapsed_time = lambda self, other: 0.001
torch.cuda.synchronize = lambda *a: None


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
