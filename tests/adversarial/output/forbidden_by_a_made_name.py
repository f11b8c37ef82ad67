# Calls a forbidden operator by a name that the program puts together.
# expect: rejected policy
# guard: clean
# run: rejected policy
# problem: own_softmax
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return getattr(torch.ops.aten, "_soft" + "max")(x, -1, False)
