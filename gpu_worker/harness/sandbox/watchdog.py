"""Limits the memory of children where no control group can be made. The fork server of the zygote calls the watchdog
some times a second.

The limits of gpu_worker/child/sandbox/sandbox.h count private memory, process by process. The watchdog sums what all
processes of a child have, and names the children over their limit, which the fork server kills. Memory in files without
a name (memfd) is seen only while it is mapped, so there is a second rule: when the machine itself runs out of memory,
the child with the most is named.
"""

from dataclasses import dataclass
from pathlib import Path

POLL_MS = 100
RESERVE_SHARE = 0.03  # the share of the machine's memory that must stay available
PROC = Path("/proc")


@dataclass
class Watched:
    """One child: its outermost process, and the bytes that all of its processes together may have."""

    pid: int
    bytes_max: int


class Watchdog:
    def __init__(self, proc: Path = PROC, inherited_shared: int = 0) -> None:
        self._proc = proc
        # Bytes of shared memory that each child has from the zygote. A child that reads none of it may have as much
        # shared memory of its own beyond its limit.
        self._inherited_shared = inherited_shared
        # A fork begins with every page of the zygote. Inherited pages cost nothing until they are written to, so they
        # are not counted.
        self._inherited = memory_of(proc / "self")[0]
        self._reserve = int(meminfo(proc, "MemTotal") * RESERVE_SHARE)
        self._children: dict[int, Watched] = {}

    def watch(self, pid: int, bytes_max: int) -> None:
        self._children[pid] = Watched(pid, bytes_max)

    def forget(self, pid: int) -> None:
        self._children.pop(pid, None)

    @property
    def idle(self) -> bool:
        return not self._children

    def over_limit(self) -> list[int]:
        """Returns the outermost processes of the children that have more memory than they may."""
        has = {pid: self.bytes_of(child) for pid, child in self._children.items()}
        over = [pid for pid, size in has.items() if size > self._children[pid].bytes_max]
        if not over and has and meminfo(self._proc, "MemAvailable") < self._reserve:
            over = [max(has, key=lambda pid: has[pid])]
        return over

    def bytes_of(self, child: Watched) -> int:
        total, shared_most = 0, 0
        for pid in descendants(self._proc, child.pid):
            private, shared = memory_of(self._proc / str(pid))
            total += max(0, private - self._inherited)
            shared_most = max(shared_most, shared)
        # Processes of one child mostly share the same memory, so it is counted once. The judge's window is part of it.
        return total + max(0, shared_most - self._inherited_shared)


def descendants(proc: Path, pid: int) -> list[int]:
    found, edge = [], [pid]
    while edge:
        found += edge
        edge = [child for parent in edge for child in children_of(proc, parent)]
    return found


def children_of(proc: Path, pid: int) -> list[int]:
    children: list[int] = []
    for file in (proc / str(pid) / "task").glob("*/children"):
        try:
            children += [int(word) for word in file.read_text(encoding="ascii").split()]
        except OSError:
            continue  # the process has ended meanwhile
    return children


def memory_of(process: Path) -> tuple[int, int]:
    """Returns the private and the shared memory of a process that lies in no file, in bytes."""
    try:
        status = (process / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0, 0
    sizes = dict(line.split(":", 1) for line in status.splitlines() if line.startswith("Rss"))
    return kib(sizes.get("RssAnon", "")), kib(sizes.get("RssShmem", ""))


def meminfo(proc: Path, name: str) -> int:
    for line in (proc / "meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return kib(line.partition(":")[2])
    return 0


def kib(words: str) -> int:
    return int(words.split()[0]) << 10 if words.split() else 0
