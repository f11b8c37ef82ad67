"""Huge pages for what the zygote imports, so that its forks are cheap.

A fork copies one entry for each page that was written to, and its end takes each back: torch leaves 280 MB of those, 70,000 small pages,
and a child is two forks. As pages of 2 MB they are some hundred entries; the few that a process then writes to are split for it.

Python's arenas lie in a stretch that asks for them before anything is imported, and the C library asks for the heap's (GLIBC_TUNABLES, set by
whoever starts the zygote): half of it all, at no cost. What libraries write to themselves can only be moved, which takes 0.1 to 0.6 s; so a
zygote does that once it has served some children and more are to be expected.

Children do without them, but for one that compiles.
"""

import ctypes
import re
from pathlib import Path

from harness.children.runtime import ChildRuntime

HUGE_BYTES = 2 << 20
ARENAS_BYTES = 128 << 20  # torch, triton and numpy take 68 MB; what is left is given back
MADV_COLLAPSE = 25
PR_SET_THP_DISABLE = 41
SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
# Private memory without a file: "start-end rw-p 00000000 00:00 0", then nothing or the heap's name.
ANONYMOUS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *(?:\[heap\])?")


class _ArenaAllocator(ctypes.Structure):
    """PyObjectArenaAllocator."""

    _fields_ = [("arenas", ctypes.c_void_p), ("take", ctypes.c_void_p), ("give_back", ctypes.c_void_p)]


class HugePages:
    """From before the imports on; settle() after them."""

    def __init__(self, runtime: ChildRuntime) -> None:
        self._libc = ctypes.CDLL(None)
        self._libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self._libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
        try:
            self._by_request = "[madvise]" in SETTING.read_text(encoding="ascii")
        except OSError:
            self._by_request = False  # a kernel without them
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
        """A child that takes memory for itself gets what it would have got: small pages, where huge ones are for who asks."""
        self._close(self._arenas)
        self._disable(1)

    def collapse(self) -> None:
        """Moves the rest, once; where the kernel has none to spare, everything stays as it was."""
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
    """Of a process that compiles something and ends: NVRTC takes its memory in 2,300 small pages fewer."""
    libc = ctypes.CDLL(None)
    libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    libc.prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0)
