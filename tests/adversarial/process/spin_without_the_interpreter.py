# A loop inside one call of the regular expressions.
# expect: timed_out run
# guard: clean
# run: timed_out run
import re

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        re.match(r'(a+)+$', 'a' * 64 + 'b')
