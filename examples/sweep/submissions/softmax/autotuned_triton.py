"""Right and tuned: tries several configurations where a GPU can time them, and takes the first one elsewhere."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"ROWS": rows}, num_warps=warps) for rows, warps in ((16, 8), (8, 4), (2, 1))],
    key=["n_cols"],
)
@triton.jit
def softmax_kernel(x_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, COLS)[None, :]
    mask = (rows < n_rows) & (cols < n_cols)
    offsets = rows * n_cols + cols
    x = tl.load(x_ptr + offsets, mask=mask, other=-float("inf"))
    weights = tl.exp(x - tl.max(x, axis=1)[:, None])
    tl.store(out_ptr + offsets, weights / tl.sum(weights, axis=1)[:, None], mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n_rows, n_cols = x.shape

        def grid(meta):
            return (triton.cdiv(n_rows, meta["ROWS"]),)

        softmax_kernel[grid](x, out, n_rows, n_cols, COLS=triton.next_power_of_2(n_cols))
        return out
