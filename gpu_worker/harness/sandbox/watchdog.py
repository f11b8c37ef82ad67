"""Memory of each child, watched where no control group can be made to limit it.

The limits of sandbox.h count private memory, process by process. What a child shares among its processes, or holds in many of them, is summed
up here some times a second, and a child that has more than its share is killed. Memory in files without a name (memfd) is seen only while
it is mapped, so there is a second line: when the machine itself runs out, the child with the most goes first.
"""

from dataclasses import dataclass
from pathlib import Path

POLL_MS = 100
RESERVE_SHARE = 0.03  # of the machine's memory: less than this available is nobody's share any more
PROC = Path("/proc")


@dataclass
class Watched:
    """One child: the process to kill, and what all of them together may have."""

    pid: int
    bytes_max: int


class Watchdog:
    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        # A fork begins with every page of ours; they cost nothing until they are written to.
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
        """Children that have more than their share, by the process to kill."""
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
        # Processes of one child mostly share the same: counted once. The judge's window is among it.
        return total + shared_most


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
            continue  # gone meanwhile
    return children


def memory_of(process: Path) -> tuple[int, int]:
    """Private and shared memory that lies in no file, in bytes."""
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
