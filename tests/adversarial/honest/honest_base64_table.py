# A table in base64, which is data.
# expect: passed
# guard: clean
# run: passed
# row: H44
import base64

import torch
import torch.nn as nn

TABLE = torch.frombuffer(bytearray(base64.b64decode("AACAPwAAAEAAAEBA")), dtype=torch.float32)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x) + 0 * TABLE.sum().to(x.device)
