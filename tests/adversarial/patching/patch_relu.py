# What the reference calls now returns its input: in this process only.
# expect: wrong_answer value
# guard: review patches_torch
# run: wrong_answer value
import torch
import torch.nn as nn

torch.relu = torch.nn.functional.relu = lambda x: x
torch.Tensor.relu = lambda self: self


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
