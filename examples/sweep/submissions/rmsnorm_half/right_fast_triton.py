"""Right and fast: reads and writes half precision, computes in single."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, out_ptr, n_rows, n_cols, eps, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, COLS)[None, :]
    mask = (rows < n_rows) & (cols < n_cols)
    offsets = rows * n_cols + cols
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=1)[:, None] / n_cols + eps)
    tl.store(out_ptr + offsets, (x * scale * weight).to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        self.weight = nn.Parameter((torch.rand(hidden) + 0.5).half())
        self.eps = eps

    def forward(self, x):
        out = torch.empty_like(x)
        n_rows, n_cols = x.shape
        rows = 8
        rmsnorm_kernel[(triton.cdiv(n_rows, rows),)](
            x, self.weight, out, n_rows, n_cols, self.eps, ROWS=rows, COLS=triton.next_power_of_2(n_cols), num_warps=8
        )
        return out
