# A program that is unpacked in three steps.
# expect: rejected policy
# guard: exec_payload
import zlib

import torch
import torch.nn as nn

PACKED = bytes.fromhex('789c2b28cacc2bd130d40400')
source = zlib.decompress(PACKED)
text = source.decode()
exec(text)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
