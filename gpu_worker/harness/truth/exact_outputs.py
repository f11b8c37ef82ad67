"""Computes the outputs of a model as exactly as can be had: on copies of the model and of its inputs, whose
floating-point tensors are cast to float64, or to float32 without TF32. This module runs in a reference child.
"""

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from harness.children.page import Rounding, TruthKind, TruthOrder
from harness.children.tensors import outputs_of, seed_everything

EXACT_COMPLEX = {torch.float64: torch.complex128, torch.float32: torch.complex64}
HOST_THREADS_MAX = 8
TF32_DROPPED_BITS = 13  # of the 23 bits of a float32's mantissa


@dataclass(frozen=True)
class Exactness:
    """Where and in which precision the truth is computed, and to which precision tensors are rounded before that."""

    device: torch.device
    dtype: torch.dtype
    rounding: Rounding

    @staticmethod
    def of(order: TruthOrder, device: torch.device) -> "Exactness":
        kind = TruthKind(order.kind)
        return Exactness(
            torch.device("cpu") if kind is TruthKind.FLOAT64_ON_HOST else device,
            torch.float32 if kind is TruthKind.FLOAT32_ON_DEVICE else torch.float64,
            Rounding(order.rounding),
        )

    def converted(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns a copy of the tensor. Tensors of integers and booleans keep their dtype."""
        value = tensor.detach()
        if value.is_floating_point():
            value = rounded(value, self.rounding).to(self.device, self.dtype, copy=True)
        elif value.is_complex():
            value = value.to(self.device, EXACT_COMPLEX[self.dtype], copy=True)
        else:
            value = value.to(self.device, copy=True)
        return value.requires_grad_() if tensor.requires_grad else value


def compute(
    model: Any,
    rows: list[Any],
    exactness: Exactness,
    seed: int,
    arguments_of: Callable[[list[Any]], list[Any]] = list,
    tensors_of: Callable[[Any], list[torch.Tensor]] = outputs_of,
) -> list[torch.Tensor]:
    """Returns the outputs of a copy of the model, which draws its random numbers from the seed. The model, the inputs
    and torch's settings are the same afterwards. `arguments_of` makes the arguments of a call from the rows of the
    inputs, `tensors_of` the rows of the outputs from what a call returns.
    """
    with ExitStack() as stack:
        stack.enter_context(_exact_settings(exactness.dtype))
        if exactness.device.type == "cpu":
            stack.enter_context(_host_threads())
        exact_model = _copy_of(model, exactness.converted)
        exact_rows = [exactness.converted(x) if isinstance(x, torch.Tensor) else x for x in rows]
        stack.enter_context(torch.no_grad())
        seed_everything(seed)
        return tensors_of(exact_model(*arguments_of(exact_rows)))


def rounded(tensor: torch.Tensor, rounding: Rounding) -> torch.Tensor:
    """Returns the tensor with the mantissas of that precision, rounded to nearest."""
    match rounding:
        case Rounding.NONE:
            return tensor
        case Rounding.FP16:
            return tensor.to(torch.float16)
        case Rounding.BF16:
            return tensor.to(torch.bfloat16)
        case Rounding.TF32:
            single = tensor.to(torch.float32)
            half = 1 << (TF32_DROPPED_BITS - 1)
            bits = (single.view(torch.int32) + half) & -(1 << TF32_DROPPED_BITS)
            return torch.where(single.isfinite(), bits.view(torch.float32), single)


def _copy_of(model: Any, converted: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Returns a deep copy of the model in which every tensor is converted: parameters, buffers, and whatever else the
    model holds. Tensors that the model holds twice are one tensor in the copy.
    """

    def copied(tensor: torch.Tensor, _memo: dict[int, Any]) -> torch.Tensor:
        value = converted(tensor)
        if isinstance(tensor, torch.nn.Parameter):
            return torch.nn.Parameter(value.detach(), tensor.requires_grad and value.is_floating_point())
        return value

    name = "__deepcopy__"
    kept = [(kind, getattr(kind, name)) for kind in (torch.Tensor, torch.nn.Parameter)]
    try:
        for kind, _ in kept:
            setattr(kind, name, copied)
        return copy.deepcopy(model)
    finally:
        for kind, deepcopy in kept:
            setattr(kind, name, deepcopy)


@contextmanager
def _host_threads() -> Iterator[None]:
    """Lets torch compute on the host with as many threads as this process may use processors."""
    kept = torch.get_num_threads()
    torch.set_num_threads(max(kept, min(len(os.sched_getaffinity(0)), HOST_THREADS_MAX)))
    try:
        yield
    finally:
        torch.set_num_threads(kept)


@contextmanager
def _exact_settings(dtype: torch.dtype) -> Iterator[None]:
    """Makes float32 mean IEEE float32, and new tensors as exact as the others."""
    default = torch.get_default_dtype()
    switches = [(torch.backends.cuda.matmul, "allow_tf32"), (torch.backends.cudnn, "allow_tf32")]
    kept = []
    try:
        for owner, name in switches:
            # A problem that uses torch's newer settings makes the older ones unreadable, and the other way round.
            try:
                kept.append((owner, name, getattr(owner, name)))
                setattr(owner, name, False)
            except RuntimeError:
                newer = owner.conv if owner is torch.backends.cudnn else owner
                kept.append((newer, "fp32_precision", newer.fp32_precision))
                newer.fp32_precision = "ieee"
        torch.set_default_dtype(dtype)
        yield
    finally:
        torch.set_default_dtype(default)
        for owner, name, value in kept:
            setattr(owner, name, value)
