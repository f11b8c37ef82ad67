# By update of the module's dict.
# expect: rejected policy
# guard: patches_clock
# run: harmless
import torch
import torch.nn as nn

torch.cuda.__dict__.update({"synch" + "ronize": lambda *a: None})


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
