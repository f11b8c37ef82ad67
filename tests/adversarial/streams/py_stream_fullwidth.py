# In full-width letters, which Python reads as plain ones.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        side = torch.cuda.Ｓｔｒｅａｍ()
        return torch.relu(x)
