"""A problem that is one call of an operator of torch.

kq-submit puts a line CALL = "..." in front of this text, with a JSON object:

    op            "add.Tensor", or with the library of another operator "torchvision.nms.default"
    positional    the arguments by position, as producer/formats/backendbench/record.h describes them
    named         the arguments by name
    strict        whether tolerances are those of BackendBench

Tensors are drawn anew for each trial: floats from 0 to 1, complex numbers from -9 to 9 in both parts, integers from -9
to 9, unsigned ones from 0 to 9. forward() takes the positional arguments and then one dict of the named ones.
"""

import json
from typing import Any

import torch

CALL: dict[str, Any] = json.loads(globals()["CALL"])
HIGHEST = 9
STRICT_TOLERANCE = 1e-2
if CALL["strict"]:
    TOLERANCE = STRICT_TOLERANCE


def operator() -> Any:
    """Returns the operator. Raises AttributeError with a sentence where this torch has none of that name."""
    *library, base, overload = CALL["op"].split(".")
    found: Any = getattr(torch.ops, library[0] if library else "aten")
    try:
        return getattr(getattr(found, base), overload)
    except AttributeError:
        raise AttributeError(f"torch {torch.__version__} has no operator {CALL['op']}") from None


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.operator = operator()  # once, because the time of forward() is the baseline

    def forward(self, *arguments: Any) -> Any:
        return self.operator(*arguments[:-1], **arguments[-1])


def get_inputs() -> list[Any]:
    return [*map(value_of, CALL["positional"]), {name: value_of(value) for name, value in CALL["named"].items()}]


def value_of(given: Any) -> Any:
    """Returns the value that record.h describes."""
    if not isinstance(given, dict):
        return given
    if "number" in given:
        return float(given["number"])
    if "list" in given:
        return [value_of(value) for value in given["list"]]
    if "tuple" in given:
        return tuple(value_of(value) for value in given["tuple"])
    if "torch" in given:
        return member_of_torch(given["torch"])
    if "device" in given:
        return device_of(given)
    return tensor_of(given["tensor"], getattr(torch, given["dtype"]), given.get("strides"))


def member_of_torch(name: str) -> Any:
    found = getattr(torch, name, None)
    if not isinstance(found, (torch.dtype, torch.layout, torch.memory_format)):
        raise ValueError(f"torch.{name} is no dtype, layout or memory format")
    return found


def device_of(given: dict[str, Any]) -> torch.device:
    """Returns the device of a record. A job runs on one device, which stands for every GPU of a record."""
    if given["device"].startswith("cuda"):
        return torch.empty(0).device if torch.cuda.is_available() else torch.device("cpu")
    return torch.device(given["device"], given.get("index"))


def tensor_of(shape: list[int], dtype: torch.dtype, strides: list[int] | None) -> torch.Tensor:
    if strides is None:
        return drawn(shape, dtype)
    length = 0 if 0 in shape else 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))
    return drawn([length], dtype).as_strided(shape, strides)


def drawn(shape: list[int], dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.rand(shape, dtype=dtype)
    if dtype.is_complex:
        part = torch.float32 if dtype is torch.complex32 else dtype.to_real()
        parts = [torch.rand(shape, dtype=part) * (2 * HIGHEST) - HIGHEST for _ in range(2)]
        return torch.complex(*parts).to(dtype)
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, dtype=torch.uint8).bool()
    lowest = -HIGHEST if dtype.is_signed else 0
    return torch.randint(lowest, HIGHEST + 1, shape, dtype=dtype)
