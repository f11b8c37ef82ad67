"""Right and fast: looks up and scales in one pass."""

import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def embedding_kernel(ids_ptr, table_ptr, out_ptr, n_ids, scale, WIDTH: tl.constexpr, IDS: tl.constexpr):
    which = tl.program_id(0) * IDS + tl.arange(0, IDS)
    cols = tl.arange(0, WIDTH)[None, :]
    mask = (which < n_ids)[:, None] & (cols < WIDTH)
    ids = tl.load(ids_ptr + which, mask=which < n_ids, other=0)
    rows = tl.load(table_ptr + ids[:, None] * WIDTH + cols, mask=mask)
    tl.store(out_ptr + which[:, None] * WIDTH + cols, rows * scale, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.table = nn.Embedding(tokens, width)
        self.scale = math.sqrt(width)

    def forward(self, ids):
        width = self.table.weight.shape[1]
        out = torch.empty(*ids.shape, width, dtype=self.table.weight.dtype, device=ids.device)
        block = 32
        embedding_kernel[(triton.cdiv(ids.numel(), block),)](
            ids, self.table.weight, out, ids.numel(), self.scale, WIDTH=width, IDS=block, num_warps=8
        )
        return out
