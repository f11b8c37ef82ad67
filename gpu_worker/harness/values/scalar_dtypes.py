"""Which dtype has made a Python number: a float that a model took out of a float32 tensor is no more precise than
float32. This module runs in a reference child, for problems whose outputs have floats.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class ScalarRecorder(TorchDispatchMode):
    """Records every number that is taken out of a tensor, as by item() and float(), with the dtype of the tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[Any, torch.dtype]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._local_scalar_dense.default:
            self.found.append((result, args[0].dtype))
        return result


def widest(dtypes: Iterable[torch.dtype]) -> torch.dtype | None:
    floating = [dtype for dtype in dtypes if dtype.is_floating_point]
    return max(floating, key=lambda dtype: dtype.itemsize, default=None)


def dtypes_of_floats(
    floats: list[float], call: Callable[[], Any], tensors: Iterable[torch.Tensor]
) -> list[torch.dtype]:
    """Returns the dtype to which each float is held: that of the tensor which held this very number during `call`, else
    the widest of all tensors from which a number was taken, else the widest of `tensors`, else float64.
    """
    with ScalarRecorder() as recorder:
        call()
    taken = widest(dtype for _, dtype in recorder.found)
    otherwise = taken or widest(tensor.dtype for tensor in tensors) or torch.float64
    return [
        widest(dtype for number, dtype in recorder.found if number == value or (number != number and value != value))
        or otherwise
        for value in floats
    ]
