# Names that are put together.
# expect: rejected stream
# guard: cuda_stream_create
# matrix: hostile: getattr with split name
import torch
import torch.nn as nn

make = getattr(torch.cuda, "Str" + "eam")
enter = getattr(torch.cuda, "set_" + "stream")


class ModelNew(nn.Module):
    def forward(self, x):
        enter(make())
        return torch.relu(x)
