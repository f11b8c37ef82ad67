# By the module's dict.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn

SIDE = vars(torch.cuda)["Stream"]()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
