"""A control group for each child, where this machine lets us make one: memory and processes are limited together, whatever they are.

The limits of sandbox.h are of single processes and of private memory; a group counts shared memory, files in memory and every process of
the child as well. Version 2 where our own group was delegated to us, else version 1, which takes root.
"""

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PREFIX = "kq-"  # and the pid of the zygote
MEMORY_FILES = ("memory.max", "memory.limit_in_bytes")
PROCESSES_MAX = 512  # and threads, of one child
MARGIN_BYTES = 256 << 20  # page tables, the kernel's own and what a fork copies before the job begins
KILLED_FOR_MEMORY = 1 << 16  # in a wait status, above what the kernel uses: ChildExited in core/plan.h


class Cgroups:
    """The parents of all children's groups, one for each hierarchy; none where there is no permission."""

    def __init__(self, parents: list[Path], version: int) -> None:
        self._parents = parents
        self._version = version
        self._left: list[Path] = []  # could not be removed yet

    @staticmethod
    def find(root: Path = ROOT, own: str | None = None) -> "Cgroups | None":
        """Groups beside or below our own, tried out by making one."""
        try:
            own = Path("/proc/self/cgroup").read_text(encoding="ascii") if own is None else own
        except OSError:
            return None
        for version, places in [*((2, [place]) for place in unified(root, own)), (1, legacy(root, own))]:
            remove_abandoned(places)
            groups = Cgroups([place / f"{PREFIX}{os.getpid()}" for place in places], version)
            if places and groups.usable():
                return groups
        return None

    def usable(self) -> bool:
        try:
            for parent in self._parents:
                parent.mkdir()
                if self._version == 2:
                    offer(parent.parent)
                    offer(parent)
            self.make("probe", 1 << 30)
            limited = any((group / file).exists() for group in self.groups("probe") for file in MEMORY_FILES)
            self.remove("probe")
        except OSError:
            limited = False
        if not limited:
            self.close()
        return limited

    def make(self, name: str, memory_bytes: int) -> None:
        for group in self.groups(name):
            group.mkdir()
        limits = {"memory.limit_in_bytes": memory_bytes, "pids.max": PROCESSES_MAX}
        if self._version == 2:
            limits = {"memory.max": memory_bytes, "memory.swap.max": 0, "pids.max": PROCESSES_MAX}
        for file, value in limits.items():
            for group in self.groups(name):
                if (group / file).exists():
                    (group / file).write_text(str(value), encoding="ascii")

    def enter(self, name: str) -> None:
        """The calling process, and all that it forks from then on."""
        for group in self.groups(name):
            (group / "cgroup.procs").write_text("0", encoding="ascii")

    def killed_for_memory(self, name: str) -> bool:
        """Whether the kernel ended a process of the group because it had no more memory to give."""
        for group in self.groups(name):
            for file in ("memory.events", "memory.oom_control"):
                if (group / file).exists():
                    counts = dict(line.split() for line in (group / file).read_text(encoding="ascii").splitlines())
                    return counts.get("oom_kill", "0") != "0"
        return False

    def remove(self, name: str) -> None:
        """Once its processes have ended; those that are still on their way out are tried again later."""
        self._left += self.groups(name)
        self._left = [group for group in self._left if not removed(group)]

    def close(self) -> None:
        self._left = [group for group in [*self._left, *self._parents] if not removed(group)]

    def groups(self, name: str) -> list[Path]:
        return [parent / name for parent in self._parents]


def unified(root: Path, own: str) -> list[Path]:
    """Where of version 2 there may be groups of ours: below our own, which works in the root alone, or beside it, in a delegated one."""
    for controllers, path in memberships(own):
        group = root / path.lstrip("/")
        if not controllers and (group / "cgroup.controllers").exists():
            return [group] if group == root else [group, group.parent]
    return []


def offer(group: Path) -> None:
    """Lets the children of a group have limits; refused where processes are in it."""
    try:
        (group / "cgroup.subtree_control").write_text("+memory +pids", encoding="ascii")
    except OSError:
        pass  # whether it matters shows with the first child


def remove_abandoned(places: list[Path]) -> None:
    """What a zygote that was killed left behind."""
    for group in (group for place in places for group in place.glob(f"{PREFIX}*")):
        if not Path("/proc", group.name.removeprefix(PREFIX)).exists():
            for part in [*group.glob("*/"), group]:
                removed(part)


def legacy(root: Path, own: str) -> list[Path]:
    """Our own groups of version 1: memory, and processes where they are counted."""
    found = {name: root / name / path.lstrip("/") for controllers, path in memberships(own) for name in controllers}
    if "memory" not in found or not found["memory"].is_dir():
        return []
    return [found[name] for name in ("memory", "pids") if name in found and found[name].is_dir()]


def memberships(own: str) -> Iterator[tuple[list[str], str]]:
    """Controllers and path of each line of /proc/self/cgroup; version 2 names no controllers."""
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        yield [name for name in controllers.split(",") if name], path


def removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
