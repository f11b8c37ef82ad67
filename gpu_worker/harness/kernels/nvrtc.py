"""CUDA's runtime compiler through ctypes: source in, cubin out. It needs no GPU."""

import ctypes
import functools
import glob
import os
import re
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from dataclasses import dataclass
from pathlib import Path

BUILD_ID = re.compile(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", re.S)  # an ELF note, beside its first headers
NOTES_BYTES = 64 << 10
LIBRARIES = ("lib64", "lib", "targets/x86_64-linux/lib")


class NvrtcMissing(Exception):
    """No NVRTC on this machine."""


class CompileError(Exception):
    """The compiler's own words."""


@dataclass(frozen=True)
class Toolkit:
    library: Path
    include: Path | None


@dataclass(frozen=True)
class Compiled:
    cubin: bytes
    log: str
    names: dict[str, str]  # kernels as asked for -> as they are called in the cubin


def toolkits() -> list[Toolkit]:
    """Where NVRTC may be, best first: what was said, what is installed, what came with torch."""
    roots = [Path(os.environ[name]) for name in ("KQ_CUDA", "CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    roots.append(Path("/usr/local/cuda"))
    for path in sys.path:
        roots += [
            Path(found)
            for found in sorted(
                glob.glob(f"{path}/nvidia/cu[0-9]*") + glob.glob(f"{path}/nvidia/cuda_nvrtc"), reverse=True
            )
        ]
    found = []
    for root in roots:
        for library in (path for part in LIBRARIES for path in sorted(glob.glob(f"{root}/{part}/libnvrtc.so.*[0-9]"))):
            found.append(Toolkit(Path(library), headers_of(root)))
            break
    return found


def headers_of(root: Path) -> Path | None:
    """CUDA's headers: the root's own, or those of the wheel beside it."""
    for include in (root / "include", root.parent / "cuda_runtime" / "include"):
        if (include / "cuda_runtime.h").exists() or (include / "cuda_fp16.h").exists():
            return include
    return None


def loaded_library(library: Path) -> Path | None:
    """The same library where this process has it already, as torch brings its own and loads it: then nothing need be loaded, which takes 7 ms, and a
    torch that looks for its NVRTC finds that."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = {line.rstrip("\n")[line.index("/") :] for line in maps if "/libnvrtc.so." in line}
    return next((path for path in map(Path, sorted(paths)) if is_same(path, library)), None)


@functools.cache
def is_torch_library() -> bool:
    """Whether what would be opened is what torch has loaded."""
    return any(loaded_library(toolkit.library) is not None for toolkit in toolkits()[:1])


def is_same(one: Path, other: Path) -> bool:
    """By the name that the linker made of its content. To read all its 109 MB takes long on a cold disk."""
    try:
        if one.samefile(other):
            return True
        named = build_id(one)
        return named is not None and named == build_id(other) and one.stat().st_size == other.stat().st_size
    except OSError:
        return False


def build_id(library: Path) -> bytes | None:
    with open(library, "rb") as file:
        found = BUILD_ID.search(file.read(NOTES_BYTES))
    return found[1] if found is not None else None


@functools.cache
def shared_nvrtc() -> "Nvrtc":
    """This process's, or the one it was forked with."""
    return Nvrtc()


class Nvrtc:
    def __init__(self) -> None:
        for toolkit in toolkits():
            try:
                self._open(toolkit)
            except OSError:
                continue  # a library that does not load is as good as none
            return
        raise NvrtcMissing("no libnvrtc found; install CUDA, or set CUDA_HOME to where it is")

    def _open(self, toolkit: Toolkit) -> None:
        library = loaded_library(toolkit.library) or toolkit.library
        # NVRTC opens this one by name; beside it, the name is known already.
        for builtins in sorted(glob.glob(f"{library.parent}/libnvrtc-builtins.so.*")):
            ctypes.CDLL(builtins, mode=ctypes.RTLD_GLOBAL)
        self._library = ctypes.CDLL(str(library))
        self.include = toolkit.include
        self._library.nvrtcGetErrorString.restype = c_char_p
        major, minor = c_int(), c_int()
        self._check(self._library.nvrtcVersion(byref(major), byref(minor)))
        self.version = f"{major.value}.{minor.value}"

    @property
    def includes(self) -> list[Path]:
        """Of CUDA; its version 13 keeps its C++ library apart."""
        found = [] if self.include is None else [self.include, self.include / "cccl"]
        return [path for path in found if path.is_dir()]

    def compile(self, source: bytes, name: str, options: list[str], kernels: list[str]) -> Compiled:
        """Raises CompileError with the compiler's log."""
        program = c_void_p()
        create = self._library.nvrtcCreateProgram
        create.argtypes = [POINTER(c_void_p), c_char_p, c_char_p, c_int, c_void_p, c_void_p]
        self._check(create(byref(program), source, name.encode(), 0, None, None))
        try:
            for kernel in kernels:
                self._check(self._library.nvrtcAddNameExpression(program, kernel.encode()))
            raw = [option.encode() for option in options]
            result = self._library.nvrtcCompileProgram(program, len(raw), (c_char_p * len(raw))(*raw))
            log = self._bytes(program, "nvrtcGetProgramLog").rstrip(b"\0").decode(errors="replace")
            if result != 0:
                raise CompileError(log.strip() or self._error_text(result))
            names = {kernel: self._lowered(program, kernel) for kernel in kernels}
            return Compiled(self._bytes(program, "nvrtcGetCUBIN"), log, names)
        finally:
            self._library.nvrtcDestroyProgram(byref(program))

    def _bytes(self, program: c_void_p, getter: str) -> bytes:
        size = c_size_t()
        self._check(getattr(self._library, f"{getter}Size")(program, byref(size)))
        data = ctypes.create_string_buffer(size.value)
        self._check(getattr(self._library, getter)(program, data))
        return data.raw

    def _lowered(self, program: c_void_p, kernel: str) -> str:
        name = c_char_p()
        result = self._library.nvrtcGetLoweredName(program, kernel.encode(), byref(name))
        if result != 0 or name.value is None:
            raise CompileError(f"the source has no kernel {kernel}")
        return name.value.decode()

    def _check(self, result: int) -> None:
        if result != 0:
            raise CompileError(f"NVRTC: {self._error_text(result)}")

    def _error_text(self, result: int) -> str:
        text: bytes = self._library.nvrtcGetErrorString(result)
        return text.decode(errors="replace")
