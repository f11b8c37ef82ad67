# A program in base64.
# expect: rejected policy
# guard: exec_payload
# row: 55
# matrix: hostile: exec of base64
import base64

import torch
import torch.nn as nn

exec(base64.b64decode("cHJpbnQoMSk="))


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
