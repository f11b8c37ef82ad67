# Reads its own source, as compilers of kernels do.
# expect: passed
# guard: clean
# run: passed
import inspect

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        assert 'getsource' in inspect.getsource(type(self).forward)
        return torch.relu(x)
