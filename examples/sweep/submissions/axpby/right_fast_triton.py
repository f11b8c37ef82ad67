"""Right and fast: one pass over both inputs."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def axpby_kernel(x_ptr, y_ptr, out_ptr, alpha, beta, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, alpha * x + beta * y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, alpha, beta):
        super().__init__()
        self.alpha = alpha
        self.beta = beta

    def forward(self, x, y):
        out = torch.empty_like(x)
        n = x.numel()
        block = 8192
        axpby_kernel[(triton.cdiv(n, block),)](x, y, out, self.alpha, self.beta, n, BLOCK=block, num_warps=8)
        return out
