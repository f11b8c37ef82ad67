"""cuda: module.cubin, which the build made of X.cu, launched as X.json says. On a GPU no Python takes part in that: the child is
gpu_worker/launcher. This is what is left for a child without one."""

from typing import NoReturn

from harness.backends.context import Context
from harness.children.failures import Failed
from harness.children.page import Failure


def load(context: Context) -> NoReturn:
    raise Failed(Failure.UNSUPPORTED_HERE, "a CUDA kernel needs a GPU")
