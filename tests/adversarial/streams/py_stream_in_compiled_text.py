# In a text that is compiled first, by builtins under another name.
# expect: rejected stream
# guard: cuda_stream_create
import builtins

import torch
import torch.nn as nn

run = getattr(builtins, "ex" + "ec")
run(builtins.compile("import torch\nSIDE = torch.cuda.Stream()", "x", "exec"))


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
