"""The backend cuda in a child without a GPU, where it can only fail. On a GPU no Python takes part: the child becomes
kq-launcher (gpu_worker/child/launcher), which loads module.cubin and launches it as X.json says.
"""

from typing import NoReturn

from harness.backends.context import Context
from harness.children.failures import Failed
from harness.children.page import Failure


def load(context: Context) -> NoReturn:
    raise Failed(
        Failure.UNSUPPORTED_HERE, "a CUDA kernel needs a GPU, and this worker has none: a worker with a GPU can run it"
    )
