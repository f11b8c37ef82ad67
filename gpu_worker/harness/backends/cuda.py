"""cuda: a module.cubin that the build made of X.cu, launched as X.json says."""

from typing import Any

from harness.backends.context import Context
from harness.failures import Failed
from harness.page import Failure


def load(context: Context) -> Any:
    raise Failed(Failure.UNSUPPORTED_HERE, "a CUDA kernel needs a GPU")
