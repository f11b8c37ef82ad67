"""Right and fast: the sum never reaches memory, every row is read once."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_layernorm_kernel(
    x_ptr, residual_ptr, weight_ptr, bias_ptr, out_ptr, n_rows, n_cols, eps, ROWS: tl.constexpr, COLS: tl.constexpr
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, COLS)[None, :]
    col_mask = cols < n_cols
    mask = (rows < n_rows) & col_mask
    offsets = rows * n_cols + cols
    total = tl.load(x_ptr + offsets, mask=mask, other=0.0) + tl.load(residual_ptr + offsets, mask=mask, other=0.0)
    mean = tl.sum(total, axis=1)[:, None] / n_cols
    centred = tl.where(mask, total - mean, 0.0)
    variance = tl.sum(centred * centred, axis=1)[:, None] / n_cols
    weight = tl.load(weight_ptr + cols, mask=col_mask, other=0.0)
    bias = tl.load(bias_ptr + cols, mask=col_mask, other=0.0)
    tl.store(out_ptr + offsets, centred * tl.rsqrt(variance + eps) * weight + bias, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        self.norm = nn.LayerNorm(hidden, eps=eps)

    def forward(self, x, residual):
        out = torch.empty_like(x)
        n_rows, n_cols = x.shape
        rows = 16
        add_layernorm_kernel[(triton.cdiv(n_rows, rows),)](
            x,
            residual,
            self.norm.weight,
            self.norm.bias,
            out,
            n_rows,
            n_cols,
            self.norm.eps,
            ROWS=rows,
            COLS=triton.next_power_of_2(n_cols),
            num_warps=8,
        )
        return out
