# A C++ source in base64.
# expect: rejected stream
# guard: cuda_stream_create
import base64

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

TEXT = "I2luY2x1ZGUgPHRvcmNoL2V4dGVuc2lvbi5oPgp2b2lkIHJ1bigpIHsgY3VkYVN0cmVhbV90IHM7IGN1ZGFTdHJlYW1DcmVhdGUoJnMpOyB9Cg=="
module = load_inline(name="m", cpp_sources="void run();", cuda_sources=base64.b64decode(TEXT).decode(), functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
