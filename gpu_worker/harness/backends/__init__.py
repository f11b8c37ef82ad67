"""The backends: one file and one row each. A backend turns a job's files into something to call with the arguments of forward()."""

from collections.abc import Callable

from harness.backends import cuda, torch, triton
from harness.backends.context import Call, Context

BACKENDS: dict[str, Callable[[Context], Call]] = {
    "torch": torch.load,
    "triton": triton.load,
    "cuda": cuda.load,
    "torch_cuda": torch.load,
    "multi_kernel": torch.load,
}
