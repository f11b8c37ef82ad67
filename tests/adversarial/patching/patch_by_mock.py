# By unittest.mock.
# expect: rejected policy
# guard: patches_clock
# run: harmless
from unittest import mock

import torch
import torch.nn as nn

mock.patch("torch.cuda.synchronize", lambda *a: None).start()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
