"""Stores four terabytes behind its output: a GPU fault there, a segmentation fault in the interpreter."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def far_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets + (1 << 40), tl.exp(x), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n = x.numel()
        far_kernel[(triton.cdiv(n, 4096),)](x, out, n, BLOCK=4096)
        return out
