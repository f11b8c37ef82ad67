"""Decompressed device code of torch's libraries, which the zygote makes once and all its children share.

Since CUDA 13 libraries have their device code compressed by zstd. CUDA decompresses a module in each process that
launches a kernel of the module for the first time, unless it finds a copy of this file. A copy lies in memory that no
process can write to any more (a sealed memfd). The zygote puts the address of the copy where the library has the
address of the original, before CUDA reads it; nothing else of a library changes.

A library whose fat binaries are of a form that fat_binary.py does not know stays as it is. All libraries stay as they
are where the worker has little memory, where there is no libzstd, and where zstd cannot decompress an entry.
"""

import contextlib
import ctypes
import fcntl
import mmap
import os
import struct
import sys
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from harness.kernels import elf
from harness.zygote import fat_binary, helper_process
from harness.zygote.fat_binary import Copy

# The names of the libraries whose kernels jobs use begin like this. The other libraries have as much code again.
LIBRARIES = ("libtorch_cuda.so", "libcublas.so", "libcublasLt.so", "libcudnn_")
CUDNN = "libcudnn.so"  # which loads libraries beside it at the first convolution
PROCESSES_MAX = 8  # that decompress
COPY_ALIGNMENT = 64
CONTROL_FD_MIN = 3  # the first descriptor that is not standard input, output or error
# Of linux/memfd.h and linux/fcntl.h: a Python that was built with an old C library lacks some of them.
MFD_CLOEXEC, MFD_ALLOW_SEALING = 1, 2
F_ADD_SEALS = 1033
F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE = 1, 2, 4, 8


@dataclass
class Mapped:
    """A library in this process."""

    path: str
    base: int
    writable: list[range]


@dataclass
class Library:
    """A library with what to copy of it, and where in the shared memory each copy begins."""

    path: str
    copies: list[tuple[int, Copy]]
    pointers: list[tuple[int, int]]  # where a pointer to an original lies in this process, and where its copy begins


class NoSharedCode(Exception):
    """Says in one sentence why libraries keep their compressed code."""


def share(architecture: int, bytes_max: int, cores: Set[int] = frozenset()) -> int:
    """Makes the copies for GPUs of this architecture, like 90, and lets the libraries of this process use them. Returns
    how many bytes the copies have. Works on these processors; an empty set means all. Raises NoSharedCode, also where
    the copies would have more than `bytes_max`.
    """
    load_cudnn()
    libraries, size = find_copies(architecture)
    if size == 0:
        raise NoSharedCode("no library has compressed code of a known form for this GPU")
    if size > bytes_max:
        raise NoSharedCode(f"decompressed it would have {size} bytes, and this worker may spend {bytes_max} on it")
    try:
        address = sealed_memory(size, libraries, cores)
    except OSError as error:
        raise NoSharedCode(f"there is no memory for decompressed code: {error}") from error
    for library in libraries:
        for pointer, place in library.pointers:
            ctypes.c_uint64.from_address(pointer).value = address + place
    return size


def load_cudnn() -> None:
    """Loads the libraries of cuDNN that it would load itself at the first convolution: those beside it, of its version.
    Without cuDNN nothing happens, and a library that cannot be loaded is left to cuDNN.
    """
    for library in list(mapped_libraries((CUDNN,))):
        version = os.path.basename(library.path).removeprefix(CUDNN)
        for path in sorted(Path(library.path).parent.glob(f"libcudnn_*.so{version}")):
            try:
                ctypes.CDLL(str(path))
            except OSError:
                continue


def mapped_libraries(names: tuple[str, ...]) -> Iterator[Mapped]:
    """Yields the libraries of this process whose names begin like one of these."""
    found: dict[str, Mapped] = {}
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            fields = line.split(maxsplit=5)
            if len(fields) < 6 or not os.path.basename(fields[5].strip()).startswith(names):
                continue
            begin, end = (int(address, 16) for address in fields[0].split("-"))
            if int(fields[2], 16) == 0:
                found.setdefault(fields[5].strip(), Mapped(fields[5].strip(), begin, []))
            library = found.get(fields[5].strip())
            if library is not None and "w" in fields[1]:
                library.writable.append(range(begin, end))
    yield from found.values()


def find_copies(architecture: int) -> tuple[list[Library], int]:
    """Returns the libraries with compressed code that can be replaced, and how many bytes their copies need."""
    libraries, size = [], 0
    for mapped in mapped_libraries(LIBRARIES):
        try:
            with open(mapped.path, "rb") as file:
                view = memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
            sections = elf.sections(view)
            if ".nv_fatbin" not in sections or ".nvFatBinSegment" not in sections:
                continue
            copies = fat_binary.copies(view, sections[".nv_fatbin"], architecture)
        except (OSError, ValueError, IndexError, struct.error) as error:
            print(f"kq: {mapped.path} keeps its compressed code: {error}", file=sys.stderr, flush=True)
            continue
        pointers = pointers_to_originals(mapped, sections[".nvFatBinSegment"])
        library = Library(mapped.path, [], [])
        for copy in copies:
            if copy.address in pointers:
                library.copies.append((size, copy))
                library.pointers.append((pointers[copy.address], size))
                size += -(-copy.size // COPY_ALIGNMENT) * COPY_ALIGNMENT
        libraries.append(library)
    return libraries, size


def pointers_to_originals(mapped: Mapped, wrappers: elf.Section) -> dict[int, int]:
    """Returns where the pointers of a library's wrappers lie in this process, by the address to which they point, as it
    is linked. Leaves out wrappers that cannot be written and those of another form.
    """
    found, size = {}, fat_binary.WRAPPER.size
    for place in range(wrappers.address, wrappers.address + wrappers.size, size):
        wrapper = mapped.base + place
        if not any(wrapper in area and wrapper + size <= area.stop for area in mapped.writable):
            continue
        *begin, original, _ = fat_binary.WRAPPER.unpack(ctypes.string_at(wrapper, size))
        if tuple(begin) == fat_binary.WRAPPER_BEGIN:
            found[original - mapped.base] = wrapper + fat_binary.WRAPPER_POINTER
    return found


def sealed_memory(size: int, libraries: list[Library], cores: Set[int]) -> int:
    """Returns the address of memory with the copies, which no process can write to any more."""
    libc = ctypes.CDLL(None, use_errno=True)
    memory = libc.memfd_create(b"kq_device_code", MFD_CLOEXEC | MFD_ALLOW_SEALING)
    if memory < 0:
        raise OSError(ctypes.get_errno(), "memfd_create failed")
    try:
        os.ftruncate(memory, size)
        decompress(memory, libraries, cores or os.sched_getaffinity(0))
        fcntl.fcntl(memory, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)
        return map_for_ever(memory, size)
    finally:
        os.close(memory)


def decompress(memory: int, libraries: list[Library], cores: Set[int]) -> None:
    """Writes the copies to the shared memory, in processes of their own: the zygote starts no thread, and keeps none of
    the memory that this takes. Raises NoSharedCode.
    """
    zstd = find_zstd()
    work = [(library.path, at, copy) for library in libraries for at, copy in library.copies]
    work.sort(key=lambda each: each[2].size, reverse=True)
    count = min(PROCESSES_MAX, len(cores))
    zygote, pids = os.getpid(), []
    try:
        for first in range(count):
            pid = os.fork()
            if pid == 0:
                write_and_exit(zygote, cores, zstd, memory, work[first::count])
            pids.append(pid)
    finally:
        failed = [pid for pid in pids if os.waitpid(pid, 0)[1] != 0]
    if failed:
        raise NoSharedCode("a process that decompresses device code failed")


def find_zstd() -> ctypes.CDLL:
    try:
        zstd = ctypes.CDLL("libzstd.so.1")
    except OSError as error:
        raise NoSharedCode(f"device code needs libzstd to be decompressed: {error}") from error
    zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    return zstd


def write_and_exit(
    zygote: int, cores: Set[int], zstd: ctypes.CDLL, memory: int, work: list[tuple[str, int, Copy]]
) -> None:
    """Writes some copies, and ends this process with 0 if all of them were right. The process ends with the zygote, and
    has none of its sockets.
    """
    code = 1
    try:
        helper_process.end_with(zygote)
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, cores)
        os.closerange(CONTROL_FD_MIN, memory)
        os.closerange(memory + 1, os.sysconf("SC_OPEN_MAX"))
        for path, at, copy in work:
            write_copy(zstd, memory, path, at, copy)
        code = 0
    except BaseException as error:
        print(f"kq: device code cannot be decompressed: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def write_copy(zstd: ctypes.CDLL, memory: int, path: str, at: int, copy: Copy) -> None:
    with open(path, "rb", buffering=0) as library:
        parts = [copy.header]
        for entry in copy.entries:
            stored = os.pread(library.fileno(), entry.stored, entry.offset)
            parts += [entry.header, decompressed(zstd, stored, entry.size) if entry.is_compressed else stored]
            parts.append(bytes(fat_binary.padded(entry.size) - entry.size))
    whole = b"".join(parts)
    if len(whole) != copy.size or os.pwrite(memory, whole, at) != copy.size:
        raise ValueError(f"a copy of {copy.size} bytes of {path} could not be written")


def decompressed(zstd: ctypes.CDLL, stored: bytes, size: int) -> bytes:
    code = ctypes.create_string_buffer(size)
    if zstd.ZSTD_decompress(code, size, stored, len(stored)) != size:
        raise ValueError(f"zstd refuses {len(stored)} bytes that should become {size}")
    return code.raw


def map_for_ever(memory: int, size: int) -> int:
    """Returns the address of the memory in this process and all its forks. The mapping is private, because some kernels
    refuse a shared one of sealed memory: a process that makes it writable would change a copy of its own.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_PRIVATE, memory, 0)
    if address is None or address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap failed")
    return int(address)
