"""Right and fast: every logit is read once, nothing but the losses is written."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def loss_kernel(logits_ptr, targets_ptr, out_ptr, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row_mask = rows < n_rows
    cols = tl.arange(0, COLS)[None, :]
    mask = row_mask[:, None] & (cols < n_cols)
    logits = tl.load(logits_ptr + rows[:, None] * n_cols + cols, mask=mask, other=-1e30)
    largest = tl.max(logits, axis=1)
    log_sum = tl.log(tl.sum(tl.exp(logits - largest[:, None]), axis=1)) + largest
    targets = tl.load(targets_ptr + rows, mask=row_mask, other=0)
    chosen = tl.load(logits_ptr + rows * n_cols + targets, mask=row_mask, other=0.0)
    tl.store(out_ptr + rows, log_sum - chosen, mask=row_mask)


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        n_rows, n_cols = logits.shape
        out = torch.empty(n_rows, dtype=logits.dtype, device=logits.device)
        rows = 8
        loss_kernel[(triton.cdiv(n_rows, rows),)](
            logits, targets, out, n_rows, n_cols, ROWS=rows, COLS=triton.next_power_of_2(n_cols), num_warps=8
        )
        return out
