"""The backends: one file and one row of BACKENDS for each kind of submission. A backend turns the files of a job into a
function that takes the arguments of the reference's forward(). Backends run in a submission child, and in a tracing
child.
"""

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
