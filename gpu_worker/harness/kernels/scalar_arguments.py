"""The arguments of a contract by the parameters of the kernel that was compiled: as many, and each scalar as wide as its parameter is."""

import struct
from collections.abc import Sequence
from dataclasses import replace

from harness.kernels.kernel_spec import Arg, BadSpec

POINTER_BYTES = 8
INT_BYTES = (1, 2, 4, 8)
FLOATS = {4: "float32", 8: "float64"}
HALVES = ("float16", "bfloat16")
HALF_BYTES = 2


def fit_arguments(args: Sequence[Arg], sizes: Sequence[int], kernel: str, file: str) -> tuple[Arg, ...]:
    """Raises BadSpec. `kernel` is for people."""
    if len(args) != len(sizes):
        raise BadSpec(f"{file}: {len(args)} arguments are given, {kernel} has {len(sizes)} parameters")
    return tuple(_Fit(f"{file}: argument {arg.name}", arg, size).arg() for arg, size in zip(args, sizes))


class _Fit:
    def __init__(self, where: str, arg: Arg, size: int) -> None:
        self._where = where
        self._arg = arg
        self._size = size

    def arg(self) -> Arg:
        match self._arg.type:
            case "tensor":
                self._need(self._size == POINTER_BYTES, "a pointer")
                return self._arg
            case "float":
                return self._float()
            case _:
                self._need(self._size in INT_BYTES, "a number")
                return self._int()

    def _int(self) -> Arg:
        bits = 8 * self._size
        value = self._arg.value
        if value is not None and not -(2 ** (bits - 1)) <= value < 2**bits:
            raise BadSpec(f"{self._where} is {value}, the kernel's parameter has {bits} bits")
        if value is not None and value >= 2**63:
            raise BadSpec(f"{self._where} is {value}, at most {2**63 - 1} can be handed over")
        return replace(self._arg, dtype=f"int{bits}")

    def _float(self) -> Arg:
        arg = self._arg
        if self._size in FLOATS:
            return replace(arg, dtype=FLOATS[self._size])
        self._need(self._size == HALF_BYTES, "a float, a double, a half or a bfloat16")
        if arg.dtype not in HALVES or arg.value is None:
            raise BadSpec(
                f"{self._where} is for a parameter of 16 bits: it needs a value, and the dtype float16 or bfloat16"
            )
        # Its bits: what launches it knows no such numbers.
        return replace(arg, type="int", dtype="int16", value=bits_of_half(arg.value, arg.dtype))

    def _need(self, holds: bool, wanted: str) -> None:
        if not holds:
            raise BadSpec(f"{self._where} is {wanted}, the kernel's parameter has {self._size} bytes")


def bits_of_half(value: float, dtype: str) -> int:
    if dtype == "float16":
        try:
            return int.from_bytes(struct.pack("<e", value), "little")
        except OverflowError:
            return 0x7C00 if value > 0 else 0xFC00
    try:
        single = int.from_bytes(struct.pack("<f", value), "little")
    except OverflowError:
        return 0x7F80 if value > 0 else 0xFF80
    if value != value:
        return 0x7FC0
    return (single + 0x7FFF + ((single >> 16) & 1)) >> 16  # to the nearest, ties to even
