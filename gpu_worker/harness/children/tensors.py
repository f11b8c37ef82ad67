"""Tensors as the channel's tables describe them: dtypes, casting, windows wrapped without a copy, and filling entries."""

import ctypes
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from harness.children.failures import Failed
from harness.children.page import DIMS_MAX, Failure, Kind, TensorDesc

# By channel::Dtype.
DTYPES: tuple[torch.dtype | None, ...] = (
    None,
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
)
DTYPE_CODES = {dtype: code for code, dtype in enumerate(DTYPES) if dtype is not None}
PRECISIONS: dict[str, torch.dtype | None] = {
    "as_given": None,
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}

# Taken now: a submission may replace them in its modules. torch.manual_seed itself, which also notes for each kind of device that is not there
# where it was called from, takes 140 us; these take 2.
_seed_cpu = torch.default_generator.manual_seed
_seed_python, _seed_numpy = random.seed, numpy.random.seed
_gpu_generators: tuple[torch.Generator, ...] = ()  # once CUDA is initialised


def seed_everything(seed: int) -> None:
    """Every generator a model may draw from: torch's on all devices, Python's and numpy's."""
    global _gpu_generators
    _gpu_generators = _gpu_generators or torch.cuda.default_generators
    _seed_cpu(seed)
    for generator in _gpu_generators:
        generator.manual_seed(seed)
    _seed_python(seed)
    _seed_numpy(seed & 0xFFFFFFFF)


def cast(value: Any, precision: torch.dtype | None) -> Any:
    """Floating-point tensors in that precision; anything else, integers and complex tensors too, as it is."""
    if precision is not None and isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.to(precision)
    return value


def cast_model(model: torch.nn.Module, precision: torch.dtype | None) -> torch.nn.Module:
    return model if precision is None else model._apply(lambda tensor: cast(tensor, precision))


def outputs_of(result: Any) -> list[torch.Tensor]:
    """What a model returned, as tensors: one, or a tuple or list of tensors and numbers. Raises TypeError in words."""
    several = list(result) if isinstance(result, (tuple, list)) else [result]
    return [_as_tensor(value, i) for i, value in enumerate(several)]


def _as_tensor(value: Any, index: int) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_quantized:
            raise TypeError(f"output {index} is a {value.layout} tensor; plain strided tensors can be compared")
        return value.resolve_conj().resolve_neg()  # the judge reads what lies there, and nobody tells it to turn a sign
    if isinstance(value, (bool, int, float)):
        return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    raise TypeError(
        f"output {index} is a {type(value).__name__}; outputs are a tensor, or a tuple or list of tensors and numbers"
    )


_use_count = torch._C._storage_Use_Count  # of memory: the tensors in it, and the object that stands for it in Python


def held_elsewhere(tensors: list[torch.Tensor]) -> list[bool]:
    """Of each, whether somebody has its memory who is none of them: a model that keeps it, whole or in part, in Python or in C++."""
    storages = [tensor.untyped_storage() for tensor in tensors]
    known = Counter(storage._cdata for storage in storages)
    return [_use_count(storage._cdata) > known[storage._cdata] + 1 for storage in storages]


# --- entries of a table


def fill_tensor(entry: TensorDesc, name: str, dtype: torch.dtype, shape: Iterable[int]) -> None:
    """Describes a tensor; its offset stays the judge's. Raises ValueError in words for what an entry cannot hold."""
    sizes = [int(size) for size in shape]
    if dtype not in DTYPE_CODES:
        known = ", ".join(str(known).removeprefix("torch.") for known in DTYPE_CODES)
        raise ValueError(f"{name} has dtype {dtype}; known are {known}")
    if len(sizes) > DIMS_MAX:
        raise ValueError(f"{name} has {len(sizes)} dimensions; at most {DIMS_MAX} are possible")
    entry.name = short_name(name)
    entry.kind = Kind.TENSOR
    entry.dtype = DTYPE_CODES[dtype]
    entry.ndim = len(sizes)
    entry.shape[:] = sizes + [0] * (DIMS_MAX - len(sizes))
    entry.bytes = dtype.itemsize * int(numpy.prod(sizes, dtype=object)) if sizes else dtype.itemsize


def fill_value(entry: TensorDesc, name: str, value: Any) -> None:
    """Describes an argument: a tensor, a number, or None. Raises ValueError in words."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_quantized:
            raise ValueError(f"{name} is a {value.layout} tensor; plain strided tensors can be handed over")
        return fill_tensor(entry, name, value.dtype, value.shape)
    entry.name = short_name(name)
    if value is None:
        entry.kind = Kind.NONE
    elif isinstance(value, bool):
        entry.kind, entry.integer = Kind.BOOLEAN, int(value)
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"{name} is {value}; integers must fit into 64 bits")
        entry.kind, entry.integer = Kind.INTEGER, value
    elif isinstance(value, float):
        entry.kind, entry.real = Kind.REAL, value
    else:
        raise ValueError(f"{name} is a {type(value).__name__}; arguments are tensors, numbers and None")
    return None


def short_name(name: str) -> bytes:
    """What fits into an entry, with its ending zero."""
    return name.encode(errors="replace")[: TensorDesc.name.size - 1]


def value_of(entry: TensorDesc) -> Any:
    """The argument an entry without a tensor stands for."""
    match entry.kind:
        case Kind.INTEGER:
            return entry.integer
        case Kind.REAL:
            return entry.real
        case Kind.BOOLEAN:
            return bool(entry.integer)
        case _:
            return None


@dataclass(frozen=True)
class TensorSpec:
    """What an entry says of a tensor."""

    dtype: torch.dtype
    shape: torch.Size

    @staticmethod
    def of(entry: TensorDesc) -> "TensorSpec":
        dtype = DTYPES[entry.dtype]
        if dtype is None:
            raise RuntimeError(f"entry {entry.name!r} has no dtype")
        return TensorSpec(dtype, torch.Size(entry.shape[: entry.ndim]))

    def __str__(self) -> str:
        return f"{str(self.dtype).removeprefix('torch.')}{list(self.shape)}"


def matches(tensor: torch.Tensor, spec: TensorSpec) -> bool:
    return tensor.dtype == spec.dtype and tensor.shape == spec.shape


# --- windows


class Window:
    """The judge's shared memory; tensors in it are views without a copy, each with a storage of its own."""

    def __init__(self, raw: Callable[[int, int], torch.Tensor], size: int, close: Callable[[], None]) -> None:
        self._raw = raw
        self._size = size
        self.close = close

    @staticmethod
    def of_host(memory: "ctypes.Array[ctypes.c_ubyte]") -> "Window":
        def raw(offset: int, count: int) -> torch.Tensor:
            return torch.frombuffer(memory, dtype=torch.uint8, count=count, offset=offset)

        # Tensors keep the mapping alive; it goes with the last of them.
        return Window(raw, len(memory), lambda: None)

    @staticmethod
    def of_cuda(pointer: int, size: int, close: Callable[[], None]) -> "Window":
        def raw(offset: int, count: int) -> torch.Tensor:
            return torch.as_tensor(_CudaArray(pointer + offset, count), device="cuda")

        return Window(raw, size, close)

    def bytes(self, count: int) -> torch.Tensor:
        """The first so many of it."""
        return self._raw(0, count)

    def tensor(self, entry: TensorDesc, device: torch.device, shift: int = 0) -> torch.Tensor:
        spec = TensorSpec.of(entry)
        if entry.bytes == 0:
            return torch.empty(spec.shape, dtype=spec.dtype, device=device)
        if entry.offset + shift + entry.bytes > self._size:
            raise RuntimeError(f"entry {entry.name!r} ends beyond the window")
        return self._raw(entry.offset + shift, entry.bytes).view(spec.dtype).view(spec.shape)


class _CudaArray:
    """Device memory in the words of the CUDA array interface."""

    def __init__(self, pointer: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (pointer, False),
            "strides": None,
            "version": 3,
        }


def problem_error(text: str) -> Failed:
    """The problem's fault, in words."""
    return Failed(Failure.PROBLEM_INVALID, text)
