# Whatever in torch.cuda begins with sync, replaced in a loop.
# expect: rejected policy
# guard: patches_clock
# run: harmless
# matrix: hostile: dir() loop patching sync*
import torch
import torch.nn as nn

for name in dir(torch.cuda):
    if name.startswith("sync"):
        setattr(torch.cuda, name, lambda *a: None)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
