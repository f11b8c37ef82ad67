"""The backends: one file and one row each. A backend turns a job's files into something to call with the arguments of forward()."""

from collections.abc import Callable
from typing import Any

from harness.backends import cuda, torch, triton
from harness.backends.context import Context

# What a call returns is what a model returns: a tensor, or a tuple or list of tensors and numbers.
Call = Callable[..., Any]

BACKENDS: dict[str, Callable[[Context], Call]] = {
    "torch": torch.load,
    "triton": triton.load,
    "cuda": cuda.load,
    "torch_cuda": torch.load,
}
