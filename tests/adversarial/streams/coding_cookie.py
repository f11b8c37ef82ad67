# -*- coding: raw_unicode_escape -*-
# Another encoding: what a reader takes for a comment is code to Python.
# expect: rejected policy
# guard: disguised_source
import torch
import torch.nn as nn

# \u000aSIDE = torch.cuda.Stream()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
