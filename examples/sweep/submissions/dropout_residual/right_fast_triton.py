"""Right: the mask from the same dropout call on ones, everything else in one pass."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def gelu_mask_add_kernel(x_ptr, mask_ptr, residual_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    keep = tl.load(mask_ptr + offsets, mask=inside)
    residual = tl.load(residual_ptr + offsets, mask=inside)
    gelu = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(out_ptr + offsets, gelu * keep + residual, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x, residual):
        keep = F.dropout(torch.ones_like(x), self.p, training=True)
        out = torch.empty_like(x)
        n = x.numel()
        block = 8192
        gelu_mask_add_kernel[(triton.cdiv(n, block),)](x, keep, residual, out, n, BLOCK=block, num_warps=8)
        return out
