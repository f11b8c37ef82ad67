"""Tensors as the tables of the page describe them: dtypes, casting, filling entries, and views into the window without
a copy.
"""

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

# Indexed by channel::Dtype.
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
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
    torch.float8_e8m0fnu,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.complex32,
)
DTYPE_CODES = {dtype: code for code, dtype in enumerate(DTYPES) if dtype is not None}
PRECISIONS: dict[str, torch.dtype | None] = {
    "as_given": None,
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}

# The functions are taken when this module is imported, because a submission may replace them in their modules.
# torch.manual_seed() itself also records its caller for each kind of device that is missing, which is far slower.
_seed_cpu = torch.default_generator.manual_seed
_seed_python, _seed_numpy = random.seed, numpy.random.seed
_gpu_generators: tuple[torch.Generator, ...] = ()  # filled once CUDA is initialised


def seed_everything(seed: int) -> None:
    """Seeds every generator that a model may draw from: torch's on all devices, Python's and numpy's."""
    global _gpu_generators
    _gpu_generators = _gpu_generators or torch.cuda.default_generators
    _seed_cpu(seed)
    for generator in _gpu_generators:
        generator.manual_seed(seed)
    _seed_python(seed)
    _seed_numpy(seed & 0xFFFFFFFF)


def cast(value: Any, precision: torch.dtype | None) -> Any:
    """Returns floating-point tensors in that precision, and all other values unchanged: also integer and complex
    tensors, and those of eight bits, whose values mean something only together with a scale.
    """
    if isinstance(value, torch.Tensor):
        return moved(value, value.device, precision)
    return value


def moved(tensor: torch.Tensor, device: torch.device, precision: torch.dtype | None) -> torch.Tensor:
    """Returns the tensor on that device and cast to that precision, with the strides that it has."""
    is_cast = precision is not None and tensor.is_floating_point() and tensor.element_size() > 1
    dtype = precision if is_cast and precision is not None else tensor.dtype
    if tensor.device.type == device.type and tensor.dtype == dtype:
        return tensor
    if words_of_layout(tensor) or tensor.numel() == 0 or tensor.is_contiguous():
        return tensor.to(device, dtype)
    return spanned(tensor).to(device, dtype).as_strided(tensor.shape, tensor.stride())


def spanned(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the memory from the first to the last element of a tensor that has some, as a flat tensor."""
    elements = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return tensor.as_strided((elements,), (1,), tensor.storage_offset())


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy with the same strides."""
    if tensor.numel() == 0 or tensor.is_contiguous():
        return tensor.clone()
    return spanned(tensor).clone().as_strided(tensor.shape, tensor.stride())


def words_of_layout(tensor: torch.Tensor) -> str:
    """Returns what a tensor is whose elements do not lie in memory by strides, or an empty text for plain tensors."""
    if tensor.is_nested:
        return "nested"
    if tensor.is_quantized:
        return "quantized"
    return "" if tensor.layout == torch.strided else str(tensor.layout)


def cast_model(model: torch.nn.Module, precision: torch.dtype | None) -> torch.nn.Module:
    return model if precision is None else model._apply(lambda tensor: cast(tensor, precision))


def outputs_of(result: Any) -> list[torch.Tensor]:
    """Returns what a model returned as a list of tensors, where the reference returns a tensor, or a tuple or list of
    tensors (value_tree.Result takes other results apart). Raises Failed with a text for the submitter.
    """
    several = list(result) if isinstance(result, (tuple, list)) else [result]
    return [as_output(value, i) for i, value in enumerate(several)]


def as_output(value: Any, index: int) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_quantized or value.is_nested:
            raise Failed(
                Failure.WRONG_FORM,
                f"output {index} is a {words_of_layout(value)} tensor; plain strided tensors can be compared",
            )
        # the judge reads the plain bytes, so pending conjugation and negation are carried out
        return value.resolve_conj().resolve_neg()
    if isinstance(value, (bool, int, float)):
        return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    raise Failed(Failure.WRONG_FORM, f"output {index} is a {type(value).__name__}, must be a tensor")


_use_count = torch._C._storage_Use_Count  # counts the owners of a storage: the tensors in it, and its Python object


def held_elsewhere(tensors: list[torch.Tensor]) -> list[bool]:
    """Returns for each tensor whether something besides the given tensors owns its memory, for example a model that
    keeps the tensor, whole or in part, in Python or C++.
    """
    storages = [tensor.untyped_storage() for tensor in tensors]
    known = Counter(storage._cdata for storage in storages)
    return [_use_count(storage._cdata) > known[storage._cdata] + 1 for storage in storages]


# --- entries of a table


def fill_tensor(entry: TensorDesc, name: str, dtype: torch.dtype, shape: Iterable[int]) -> None:
    """Describes a contiguous tensor in an entry. The offset is left to the judge. Raises ValueError if an entry cannot
    describe the tensor.
    """
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
    entry.is_strided = 0


def fill_value(entry: TensorDesc, name: str, value: Any) -> None:
    """Describes an argument in an entry: a tensor, a number, or None. Raises ValueError for other values."""
    if isinstance(value, torch.Tensor):
        if words_of_layout(value):
            raise ValueError(f"{name} is a {words_of_layout(value)} tensor; plain strided tensors can be handed over")
        fill_tensor(entry, name, value.dtype, value.shape)
        if value.numel() > 0 and not value.is_contiguous():
            entry.is_strided = 1
            entry.strides[:] = [*value.stride(), *[0] * (DIMS_MAX - value.dim())]
            entry.bytes = value.element_size() * spanned(value).numel()
        return None
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
    """Returns the part of a name that fits into an entry with its terminating zero."""
    return name.encode(errors="replace")[: TensorDesc.name.size - 1]


def value_of(entry: TensorDesc) -> Any:
    """Returns the argument that an entry without a tensor describes."""
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
    """The dtype and shape of a tensor, as an entry has them."""

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


def matches(tensor: torch.Tensor, entry: TensorDesc) -> bool:
    """Returns whether the tensor has the entry's dtype, shape and strides."""
    if tensor.dtype != DTYPES[entry.dtype] or tensor.shape != torch.Size(entry.shape[: entry.ndim]):
        return False
    if entry.is_strided:
        return tensor.stride() == tuple(entry.strides[: entry.ndim])
    return tensor.is_contiguous()


# --- windows


class Window:
    """The judge's shared memory. Tensors in it are views without a copy, each with a storage of its own."""

    def __init__(self, raw: Callable[[int, int], torch.Tensor], size: int, close: Callable[[], None]) -> None:
        self._raw = raw
        self._size = size
        self.close = close

    @staticmethod
    def of_host(memory: "ctypes.Array[ctypes.c_ubyte]") -> "Window":
        def raw(offset: int, count: int) -> torch.Tensor:
            return torch.frombuffer(memory, dtype=torch.uint8, count=count, offset=offset)

        # The tensors keep the mapping alive, which ends with the last of them.
        return Window(raw, len(memory), lambda: None)

    @staticmethod
    def of_cuda(pointer: int, size: int, close: Callable[[], None]) -> "Window":
        def raw(offset: int, count: int) -> torch.Tensor:
            return torch.as_tensor(_CudaArray(pointer + offset, count), device="cuda")

        return Window(raw, size, close)

    def bytes(self, count: int) -> torch.Tensor:
        """Returns the first `count` bytes of the window as a tensor."""
        return self._raw(0, count)

    def tensor(self, entry: TensorDesc, device: torch.device, shift: int = 0) -> torch.Tensor:
        spec = TensorSpec.of(entry)
        if entry.bytes == 0:
            return torch.empty(spec.shape, dtype=spec.dtype, device=device)
        if entry.offset + shift + entry.bytes > self._size:
            raise RuntimeError(f"entry {entry.name!r} ends beyond the window")
        flat = self._raw(entry.offset + shift, entry.bytes).view(spec.dtype)
        return flat.as_strided(spec.shape, entry.strides[: entry.ndim]) if entry.is_strided else flat.view(spec.shape)


class _CudaArray:
    """Device memory that torch wraps through the CUDA array interface."""

    def __init__(self, pointer: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (pointer, False),
            "strides": None,
            "version": 3,
        }


def problem_error(text: str) -> Failed:
    """Returns an error that says the problem is at fault."""
    return Failed(Failure.PROBLEM_INVALID, text)
