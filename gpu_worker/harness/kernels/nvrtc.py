"""CUDA's runtime compiler NVRTC through ctypes. It makes a cubin of a source and needs no GPU."""

import ctypes
import functools
import glob
import os
import re
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from dataclasses import dataclass
from pathlib import Path

# an ELF note near the beginning of the file
BUILD_ID = re.compile(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", re.S)
NOTES_BYTES = 64 << 10
LIBRARIES = ("lib64", "lib", "targets/x86_64-linux/lib")


class NvrtcMissing(Exception):
    """This machine has no NVRTC."""


class CompileError(Exception):
    """The source does not compile; the text is the compiler's log."""


@dataclass(frozen=True)
class Toolkit:
    library: Path
    include: Path | None


@dataclass(frozen=True)
class Compiled:
    cubin: bytes
    log: str
    names: dict[str, str]  # the wanted kernels -> their names in the cubin


def toolkits() -> list[Toolkit]:
    """Returns where NVRTC may be, best first: named in the environment, installed, or installed with torch."""
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
    """Returns the folder of CUDA's headers: the root's own, or that of the wheel beside it."""
    for include in (root / "include", root.parent / "cuda_runtime" / "include"):
        if (include / "cuda_runtime.h").exists() or (include / "cuda_fp16.h").exists():
            return include
    return None


def loaded_library(library: Path) -> Path | None:
    """Returns the same library if this process has loaded it already, as torch loads the NVRTC that it brings. Then no
    second library is loaded, and a torch that looks for its NVRTC finds its own.
    """
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = {line.rstrip("\n")[line.index("/") :] for line in maps if "/libnvrtc.so." in line}
    return next((path for path in map(Path, sorted(paths)) if is_same(path, library)), None)


@functools.cache
def is_torch_library() -> bool:
    """Returns whether the NVRTC that would be opened is the one that torch has loaded."""
    return any(loaded_library(toolkit.library) is not None for toolkit in toolkits()[:1])


def is_same(one: Path, other: Path) -> bool:
    """Compares two libraries by the build id that the linker wrote, because reading all of a library takes long on a
    cold disk.
    """
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
    """Returns the NVRTC of this process, which may come from the process that it was forked from."""
    return Nvrtc()


class Nvrtc:
    def __init__(self) -> None:
        for toolkit in toolkits():
            try:
                self._open(toolkit)
            except OSError:
                continue  # a library that does not load counts as missing
            return
        raise NvrtcMissing("no libnvrtc found; install CUDA, or set CUDA_HOME to where it is")

    def _open(self, toolkit: Toolkit) -> None:
        library = loaded_library(toolkit.library) or toolkit.library
        # NVRTC opens its builtins library by name; a library that is loaded under that name is found.
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
        """Returns the folders of CUDA's headers. CUDA 13 has its C++ library in a folder of its own."""
        found = [] if self.include is None else [self.include, self.include / "cccl"]
        return [path for path in found if path.is_dir()]

    def compile(self, source: bytes, name: str, options: list[str], kernels: list[str]) -> Compiled:
        """Compiles a source to a cubin. Raises CompileError with the compiler's log."""
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
