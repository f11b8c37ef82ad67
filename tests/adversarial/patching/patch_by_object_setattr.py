# By type.__setattr__, on a class under another name.
# expect: rejected policy
# guard: patches_clock
# run: harmless
import torch
import torch.nn as nn

E = torch.cuda.Event
type.__setattr__(E, 'record', lambda self, *a: None)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
