"""A control group for each child, where this machine lets us make one: memory and processes are limited together, whatever they are.

The limits of sandbox.h are of single processes and of private memory; a group counts shared memory, files in memory and every process of
the child as well. And however many processes a build has, on a busy machine they get a tenth of what each other child gets. Version 2 where our own group was delegated to us, else version 1, which takes root.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PREFIX = "kq-"  # and whose it is: own_name()
MEMORY_FILES = ("memory.max", "memory.limit_in_bytes")
PROCESSES_MAX = 512  # and threads, of one child
# Shares of the processors, of version 2 and 1; another child has 100 and 1024. All children together have as much as so many processes beside them.
BUILD_SHARES = {"cpu.weight": 10, "cpu.shares": 102}
PROCESSORS = len(os.sched_getaffinity(0))
ALL_CHILDREN_SHARES = {"cpu.weight": min(100 * PROCESSORS, 10_000), "cpu.shares": min(1024 * PROCESSORS, 262_144)}
LIMITS = ("memory", "pids")  # hierarchies of version 1
LIMITS_AND_SHARES = (*LIMITS, "cpu")
MARGIN_BYTES = 256 << 20  # page tables, the kernel's own and what a fork copies before the job begins
EMPTY_LIMIT_S = 5.0  # until the last process of a killed group is gone: it takes milliseconds
ABANDONED_LIMIT_S = 2.0  # the same for a group that a killed zygote left, whose children are dying by themselves
POLL_S = 0.002
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
        ways = [(2, [place]) for place in unified_places(root, own)] + [
            (1, legacy_places(root, own)),
            (1, legacy_places(root, own, LIMITS)),
        ]
        for version, places in ways:
            remove_abandoned(places)
            groups = Cgroups([place / own_group_name() for place in places], version)
            if places and groups.usable():
                return groups
        return None

    def usable(self) -> bool:
        try:
            for parent in self._parents:
                parent.mkdir()
                if self._version == 2:
                    enable_controllers(parent.parent)
                    enable_controllers(parent)
                set_cpu_shares(parent, ALL_CHILDREN_SHARES)
            self.make("probe", 1 << 30, is_build=True)
            limited = any((group / file).exists() for group in self.groups("probe") for file in MEMORY_FILES)
        except OSError:
            limited = False
        self.remove("probe")
        if not limited:
            self.close()
        return limited

    def make(self, name: str, memory_bytes: int, is_build: bool = False) -> None:
        limits = {"memory.limit_in_bytes": memory_bytes, "pids.max": PROCESSES_MAX}
        if self._version == 2:
            limits = {"memory.max": memory_bytes, "memory.swap.max": 0, "pids.max": PROCESSES_MAX}
        try:
            for group in self.groups(name):
                group.mkdir()
                for file, value in limits.items():
                    if (group / file).exists():
                        (group / file).write_text(str(value), encoding="ascii")
                if is_build:
                    set_cpu_shares(group, BUILD_SHARES)
        except OSError:
            self.remove(name)
            raise

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

    def end(self, name: str, limit_s: float = EMPTY_LIMIT_S) -> int:
        """Freezes what is still in a child's group, kills it and waits until it is gone. How many are there all the same."""
        left = {pid for group in self.groups(name) for pid in kill_all(group, limit_s)}
        return len(left)

    def remove(self, name: str) -> None:
        """Once its processes have ended; those that are still on their way out are tried again later."""
        self._left += self.groups(name)
        self._left = [group for group in self._left if not try_remove(group)]

    def close(self) -> None:
        self._left = [group for group in [*self._left, *self._parents] if not try_remove(group)]

    def groups(self, name: str) -> list[Path]:
        return [parent / name for parent in self._parents]


def unified_places(root: Path, own: str) -> list[Path]:
    """Where of version 2 there may be groups of ours: below our own, which works in the root alone, or beside it, in a delegated one."""
    for controllers, path in memberships(own):
        group = root / path.lstrip("/")
        if not controllers and (group / "cgroup.controllers").exists():
            return [group] if group == root else [group, group.parent]
    return []


def enable_controllers(group: Path) -> None:
    """Lets the children of a group have limits, which is refused where processes are in it, and then shares of the processors, which are not and would stay."""
    for controllers in ("+memory +pids", "+cpu"):
        try:
            (group / "cgroup.subtree_control").write_text(controllers, encoding="ascii")
        except OSError:
            return  # whether it matters shows with the first child


def set_cpu_shares(group: Path, shares: dict[str, int]) -> None:
    """Where processors are shared out here."""
    for file, value in shares.items():
        if (group / file).exists():
            with contextlib.suppress(OSError):
                (group / file).write_text(str(value), encoding="ascii")


def own_group_name() -> str:
    """That of a process and of when it began, for numbers are used again, in a namespace of such numbers: another has others."""
    return f"{PREFIX}{pid_namespace()}-{os.getpid()}-{start_time(os.getpid())}"


def pid_namespace() -> int:
    return os.stat("/proc/self/ns/pid").st_ino


def remove_abandoned(places: list[Path]) -> None:
    """What a zygote that was killed left behind. Of other namespaces nobody here can tell who lives."""
    for group in (group for place in places for group in place.glob(f"{PREFIX}{pid_namespace()}-*")):
        _, pid, start = group.name.removeprefix(PREFIX).split("-")
        if start_time(pid) == start:
            continue
        with contextlib.suppress(FileNotFoundError):  # another zygote is at it, too
            for part in [*group.glob("*/"), group]:
                kill_all(part, ABANDONED_LIMIT_S)
                try_remove(part)


def start_time(pid: int | str) -> str | None:
    """When a process began, in ticks since the machine did; None when there is none of this number."""
    try:
        return (
            Path("/proc", str(pid), "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
        )
    except OSError:
        return None


def kill_all(group: Path, limit_s: float) -> list[int]:
    """Kills every process of a group, and waits for the last of them: those that are left at the limit.

    Frozen first, none of them can fork while they are counted. Version 1 has no such switch in these hierarchies; there the group is looked
    through again and again, and its limit of processes keeps them from winning.
    """
    left = members(group)
    if left:
        write_switch(group, "cgroup.freeze")
    deadline = time.monotonic() + limit_s
    while left:
        if not write_switch(group, "cgroup.kill"):
            for pid in left:
                kill(pid)
        left = members(group)
        if not left or time.monotonic() > deadline:
            break
        time.sleep(POLL_S)
    return left


def members(group: Path) -> list[int]:
    try:
        return [int(pid) for pid in (group / "cgroup.procs").read_text(encoding="ascii").split()]
    except OSError:
        return []


def write_switch(group: Path, file: str) -> bool:
    try:
        fd = os.open(group / file, os.O_WRONLY)  # which is not there in version 1, and must not be made
    except OSError:
        return False
    try:
        return os.write(fd, b"1") == 1
    except OSError:
        return False
    finally:
        os.close(fd)


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def legacy_places(root: Path, own: str, hierarchies: tuple[str, ...] = LIMITS_AND_SHARES) -> list[Path]:
    """Our own groups of version 1: memory, and where we may, processes, which are counted, and processors, which are shared out."""
    found = {name: root / name / path.lstrip("/") for controllers, path in memberships(own) for name in controllers}
    if "memory" not in found or not found["memory"].is_dir():
        return []
    wanted = [
        found[name].resolve()
        for name in hierarchies
        if name in found and (name != "cpu" or os.access(found[name], os.W_OK)) and found[name].is_dir()
    ]
    return list(dict.fromkeys(wanted))


def memberships(own: str) -> Iterator[tuple[list[str], str]]:
    """Controllers and path of each line of /proc/self/cgroup; version 2 names no controllers."""
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        yield [name for name in controllers.split(",") if name], path


def try_remove(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
