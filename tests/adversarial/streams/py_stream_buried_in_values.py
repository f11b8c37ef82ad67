# One name with twenty values, the last of which counts.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn

f = torch.relu
f = torch.abs
f = torch.exp
f = torch.log
f = torch.sin
f = torch.cos
f = torch.tan
f = torch.tanh
f = torch.sqrt
f = torch.neg
f = torch.ceil
f = torch.floor
f = torch.round
f = torch.sign
f = torch.erf
f = torch.asin
f = torch.acos
f = torch.atan
f = torch.sinh
f = torch.cosh
f = torch.cuda.Stream


class ModelNew(nn.Module):
    def forward(self, x):
        f()
        return torch.relu(x)
