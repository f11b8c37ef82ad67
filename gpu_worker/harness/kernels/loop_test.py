"""A small triton kernel with a loop over an argument, and its problem. A worker's self-test runs the file as a
submission (gpu_worker/lane/triton_check.cc).
"""

import torch
import triton
import triton.language as tl

ROWS = 4
BLOCK = 16


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(0)


@triton.jit  # type: ignore[untyped-decorator]
def sum_rows(x, total, rows, block: tl.constexpr):  # type: ignore[no-untyped-def]
    columns = tl.arange(0, block)
    value = tl.zeros((block,), dtype=tl.float32)
    for row in range(rows):
        value += tl.load(x + row * block + columns)
    tl.store(total + columns, value)


class ModelNew(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.empty_like(x[0])
        sum_rows[(1,)](x, total, x.shape[0], block=BLOCK)
        return total


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(ROWS, BLOCK)]
