"""Reads a cubin: its architecture, its kernels and the sizes of their parameters, from its ELF sections."""

import re
import struct
from dataclasses import dataclass

from harness.kernels import elf

ABI_OF_CUDA_13 = 8
SVAL = 4  # a record with as many bytes of value as it says; other records have two bytes
KPARAM_INFO = 0x17
CBANK_PARAM_SIZE = 0x19
LENGTH = re.compile(r"\d+")


class BadCubin(Exception):
    """The data is no cubin, or a damaged one."""


@dataclass(frozen=True)
class Cubin:
    arch: int  # 90 for sm_90
    # Kernel -> the bytes of each of its parameters; None if the cubin describes them in a form that is not known here.
    parameters: dict[str, tuple[int, ...] | None]


def read(data: bytes) -> Cubin:
    """Raises BadCubin."""
    try:
        return _read(data)
    except (struct.error, IndexError, ValueError) as error:
        raise BadCubin(f"is no cubin, or a damaged one ({error})") from error


def _read(data: bytes) -> Cubin:
    (machine,) = struct.unpack_from("<H", data, 18)
    if data[:5] != b"\x7fELF\x02" or machine != 190:
        raise BadCubin("is no cubin: an ELF file for a GPU is expected")
    (flags,) = struct.unpack_from("<I", data, 48)
    arch = (flags >> 8) & 0xFF if data[8] >= ABI_OF_CUDA_13 else flags & 0xFF
    found = elf.sections(data).items()
    sections = {name: data[section.offset : section.offset + section.size] for name, section in found}
    prefix = ".nv.info."
    kernels = [
        name.removeprefix(prefix)
        for name in sections
        if name.startswith(prefix) and f".text.{name.removeprefix(prefix)}" in sections
    ]
    return Cubin(arch, {kernel: parameters_of(sections[prefix + kernel]) for kernel in kernels})


def parameters_of(info: bytes) -> tuple[int, ...] | None:
    sizes: dict[int, int] = {}
    total = at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if attribute == CBANK_PARAM_SIZE and form != SVAL:
            total = size
        if form == SVAL:
            if attribute == KPARAM_INFO:
                (ordinal,) = struct.unpack_from("<H", info, at + 4)
                (word,) = struct.unpack_from("<I", info, at + 8)
                sizes[ordinal] = word >> 18
            at += size
    return None if total and not sizes else tuple(sizes[ordinal] for ordinal in sorted(sizes))


def plain_name(symbol: str) -> str:
    """Returns the name that the source has, without namespaces and arguments: "add" for "_Z3addPf" and for
    "_ZN2my3addIfEEvPT_".
    """
    rest = symbol.removeprefix("_Z").removeprefix("N").removeprefix("12_GLOBAL__N_1") if symbol.startswith("_Z") else ""
    name = ""
    while (length := LENGTH.match(rest)) is not None:
        end = length.end() + int(length.group())
        name, rest = rest[length.end() : end], rest[end:]
    return name or symbol


def find(cubin: Cubin, wanted: str | None) -> str | None:
    """Returns the symbol of the kernel with that name, as the cubin or as the source has it. Without a name, returns
    the only kernel. None if there is no such kernel, or more than one.
    """
    if wanted is None:
        return next(iter(cubin.parameters)) if len(cubin.parameters) == 1 else None
    if wanted in cubin.parameters:
        return wanted
    plain = re.split(r"[<\s]", wanted.split("::")[-1] if "<" not in wanted else wanted.split("<")[0].split("::")[-1])[0]
    found = [kernel for kernel in cubin.parameters if plain_name(kernel) == plain]
    return found[0] if len(found) == 1 else None
