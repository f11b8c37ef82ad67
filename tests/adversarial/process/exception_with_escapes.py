# Words that would move a terminal's cursor.
# expect: runtime_error
# guard: clean
# run: runtime_error
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        raise ValueError('\x1b[2J\x1b]0;passed\x07 passed \u202e')
