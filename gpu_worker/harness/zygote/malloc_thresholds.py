"""Settings of the C library's malloc that keep freed memory in the process, so that the tensors of a call lie where
those of the last call lay. The zygote sets them, and every fork of the zygote inherits them.

By default glibc maps large blocks separately and unmaps them when they are freed, trims the end of the heap, and adapts
both limits to what was freed before. Of two processes that run the same model, one would then touch all pages of its
tensors anew in each call, and the other would not, which changes the measured time several times over. Blocks of more
than BLOCK_BYTES_MAX are mapped separately in any case.
"""

import ctypes

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
BLOCK_BYTES_MAX = 32 << 20  # the largest threshold that glibc accepts
FREE_BYTES_MAX = 1 << 30  # free bytes at the end of the heap that are not given back


def keep_freed_memory() -> None:
    """Sets both limits for this process and all processes that it forks."""
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, BLOCK_BYTES_MAX)
    libc.mallopt(M_TRIM_THRESHOLD, FREE_BYTES_MAX)
