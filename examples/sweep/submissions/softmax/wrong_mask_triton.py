"""Wrong values: the padding is loaded as 0 instead of -inf, so every padded column adds exp(-max) to the sum."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, COLS)[None, :]
    mask = (rows < n_rows) & (cols < n_cols)
    offsets = rows * n_cols + cols
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    x -= tl.max(x, axis=1)[:, None]
    weights = tl.exp(x)
    tl.store(out_ptr + offsets, weights / tl.sum(weights, axis=1)[:, None], mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n_rows, n_cols = x.shape
        rows = 16
        softmax_kernel[(triton.cdiv(n_rows, rows),)](
            x, out, n_rows, n_cols, ROWS=rows, COLS=triton.next_power_of_2(n_cols), num_warps=4
        )
        return out
