"""Huge pages for what the zygote has imported, so that its forks are cheap.

A fork copies one entry for each page that was written to, and its end takes each back: torch leaves 280 MB of those, 70,000 small pages,
and a child is three forks. As pages of 2 MB they are some hundred entries; the few that a process then writes to are split for it. Finding and
filling such pages takes a while too, so a zygote does it once it has served some children and more are to be expected.
"""

import ctypes
import re

HUGE_BYTES = 2 << 20
MADV_COLLAPSE = 25
# Private memory without a file: "start-end rw-p 00000000 00:00 0", then nothing or the heap's name.
ANONYMOUS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *(?:\[heap\])?")


def collapse() -> None:
    """Asks for them, once; where the kernel has none, or none to spare, everything stays as it was.

    The kernel is not told to use them from now on: a child that takes memory for itself gets small pages, as it would have.
    """
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        found = [ANONYMOUS.fullmatch(line.rstrip("\n")) for line in maps]
    for match in found:
        if match is None:
            continue
        begin, end = (int(address, 16) for address in match.groups())
        first, last = -(-begin // HUGE_BYTES) * HUGE_BYTES, end // HUGE_BYTES * HUGE_BYTES
        if first < last:
            libc.madvise(first, last - first, MADV_COLLAPSE)
