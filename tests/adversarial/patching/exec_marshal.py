# Bytecode from a text.
# expect: rejected policy
# guard: exec_payload
import marshal

import torch
import torch.nn as nn

run = marshal.loads


class ModelNew(nn.Module):
    def forward(self, x):
        run(b"\xe3\x00\x00")
        return torch.relu(x)
