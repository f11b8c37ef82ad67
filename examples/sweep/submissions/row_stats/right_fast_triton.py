"""Right and fast: all three outputs from one read of the row."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def stats_kernel(x_ptr, mean_ptr, variance_ptr, positives_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row_mask = rows < n_rows
    cols = tl.arange(0, COLS)[None, :]
    mask = row_mask[:, None] & (cols < n_cols)
    x = tl.load(x_ptr + rows[:, None] * n_cols + cols, mask=mask, other=0.0)
    mean = tl.sum(x, axis=1) / n_cols
    centred = tl.where(mask, x - mean[:, None], 0.0)
    variance = tl.sum(centred * centred, axis=1) / n_cols
    positives = tl.sum((x > 0).to(tl.int64), axis=1)
    tl.store(mean_ptr + rows, mean, mask=row_mask)
    tl.store(variance_ptr + rows, variance, mask=row_mask)
    tl.store(positives_ptr + rows, positives, mask=row_mask)


class ModelNew(nn.Module):
    def forward(self, x):
        n_rows, n_cols = x.shape
        mean = torch.empty(n_rows, dtype=x.dtype, device=x.device)
        variance = torch.empty_like(mean)
        positives = torch.empty(n_rows, dtype=torch.int64, device=x.device)
        rows = 8
        stats_kernel[(triton.cdiv(n_rows, rows),)](
            x, mean, variance, positives, n_rows, n_cols, ROWS=rows, COLS=triton.next_power_of_2(n_cols), num_warps=8
        )
        return mean, variance, positives
