"""Huge pages for the memory of the zygote, so that its forks are cheap. The zygote uses this module; a child that
compiles, or that warms up on a GPU, calls enable_for_process().

A fork copies one page table entry for each page that was written to, and the end of the child frees each again. The
imports of the zygote leave about 70,000 small pages, and a child is two forks. In pages of 2 MB the same memory takes
some hundred entries; the few pages that a process then writes to are split for it.

Python's arenas lie in a mapping that asks for huge pages before anything is imported, and the C library asks for the
heap's (GLIBC_TUNABLES, set by the process that starts the zygote). These two are half of the memory, at no cost. The
memory that libraries allocate themselves can only be moved afterwards (collapse), which takes 0.1 to 0.6 s; the fork
server therefore does that once a zygote has served some children.

Huge pages are switched off for children, except for those that compile and those that warm up on a GPU.
"""

import ctypes
import re
from pathlib import Path

from harness.children.runtime import ChildRuntime

HUGE_BYTES = 2 << 20
ARENAS_BYTES = 128 << 20  # torch, triton and numpy take 68 MB; finish_imports() gives the rest back
MADV_COLLAPSE = 25
PR_SET_THP_DISABLE = 41
SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
# Matches a line of /proc/self/maps about private memory without a file: "start-end rw-p 00000000 00:00 0", then nothing
# or [heap].
ANONYMOUS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *(?:\[heap\])?")


class _ArenaAllocator(ctypes.Structure):
    """PyObjectArenaAllocator of CPython's C interface."""

    _fields_ = [("arenas", ctypes.c_void_p), ("take", ctypes.c_void_p), ("give_back", ctypes.c_void_p)]


class HugePages:
    """The huge pages of one zygote. It is created before the imports; finish_imports() is called after them."""

    def __init__(self, runtime: ChildRuntime) -> None:
        self._libc = ctypes.CDLL(None)
        self._libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self._libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
        try:
            self._by_request = "[madvise]" in SETTING.read_text(encoding="ascii")
        except OSError:
            self._by_request = False  # the kernel has no transparent huge pages
        open_arenas = runtime.function("kq_arenas_open", ctypes.c_void_p, ctypes.c_size_t)
        take = runtime.function("kq_arenas_take", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
        give_back = runtime.function("kq_arenas_give_back", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
        self._close = runtime.function("kq_arenas_close", None, ctypes.c_void_p)
        self._arenas = open_arenas(ARENAS_BYTES)
        allocator = _ArenaAllocator(
            self._arenas, ctypes.cast(take, ctypes.c_void_p), ctypes.cast(give_back, ctypes.c_void_p)
        )
        ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(allocator))

    def finish_imports(self) -> None:
        """Gives unused arena memory back and switches huge pages off for later allocations. A child then gets small
        pages, as it would without this module.
        """
        self._close(self._arenas)
        self._disable(1)

    def collapse(self) -> None:
        """Moves the remaining private memory into huge pages. Where the kernel has no huge page to spare, the memory
        stays as it is.
        """
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            found = [ANONYMOUS.fullmatch(line.rstrip("\n")) for line in maps]
        self._disable(0)
        for match in found:
            if match is None:
                continue
            begin, end = (int(address, 16) for address in match.groups())
            first, last = -(-begin // HUGE_BYTES) * HUGE_BYTES, end // HUGE_BYTES * HUGE_BYTES
            if first < last:
                self._libc.madvise(first, last - first, MADV_COLLAPSE)
        self._disable(1)

    def _disable(self, refuse: int) -> None:
        if self._by_request:
            self._libc.prctl(PR_SET_THP_DISABLE, refuse, 0, 0, 0)


def enable_for_process() -> None:
    """Switches huge pages on again for a process that fills much fresh memory: NVRTC touches 2,300 small pages fewer,
    and CUDA copies each module that it loads.
    """
    libc = ctypes.CDLL(None)
    libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    libc.prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0)
