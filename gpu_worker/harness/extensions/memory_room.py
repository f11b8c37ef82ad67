"""Keeps the steps of one build within its memory."""

import contextlib
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

# What a step takes at most with torch's headers, in MiB, measured with torch 2.11 and CUDA 13.
HOST_MIB = 1600  # g++ with the headers as they are
ARCHIVE_PART_MIB = (2000, 1600)  # g++ that compiles half, or an eighth or less, of the bodies of torch's headers
PREFIX_HOST_MIB = 900  # g++ with a precompiled prefix
DEVICE_HALF_MIB = 600  # nvcc without torch's headers
FULL_MIB = {"cicc": 3000, "cudafe++": 2200, "other": HOST_MIB}
STRIPPED_MIB = {"cicc": 1500, "cudafe++": 1700, "other": 1300}  # without bodies (nvcc_headers.py)


class MemoryRoom:
    """Lets steps run side by side as long as what they may take fits into the memory of the build. A step that is
    larger than the whole room runs alone.
    """

    def __init__(self, mib: int) -> None:
        self.mib = mib
        self.taken = 0
        self.changed = threading.Condition()

    @contextlib.contextmanager
    def take(self, mib: int) -> Iterator[None]:
        with self.changed:
            self.changed.wait_for(lambda: self.taken == 0 or self.taken + mib <= self.mib)
            self.taken += mib
        try:
            yield
        finally:
            with self.changed:
                self.taken -= mib
                self.changed.notify_all()


def memory_of_build_mib() -> int:
    """Returns the memory that a build may take: the limit of the sandbox, or what is free if there is none."""
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    if limit != resource.RLIM_INFINITY:
        return limit >> 20
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("MemAvailable:"))
