"""A control group for each child, where this machine allows to make one. The group limits the memory and the processes
of a child as a whole. The fork server makes and removes groups; a child enters its own.

The limits of gpu_worker/child/sandbox/sandbox.h are of single processes and of private memory. A group also counts
shared memory, files in memory and every process of the child. On a busy machine all processes of a build together get a
tenth of the processor time of each other child.

The groups are of version 2 where the group of this process was delegated to it, else of version 1, which takes root.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PREFIX = "kq-"  # followed by the name of the zygote, which own_group_name() returns
MEMORY_FILES = ("memory.max", "memory.limit_in_bytes")
PROCESSES_MAX = 512  # processes and threads of one child, for each of its devices
# Shares of processor time, for version 2 and version 1 of control groups; the default of a group is 100 and 1024. All
# children together have as much as one process on each processor.
BUILD_SHARES = {"cpu.weight": 10, "cpu.shares": 102}
PROCESSORS = len(os.sched_getaffinity(0))
ALL_CHILDREN_SHARES = {"cpu.weight": min(100 * PROCESSORS, 10_000), "cpu.shares": min(1024 * PROCESSORS, 262_144)}
LIMITS = ("memory", "pids")  # controllers of version 1
LIMITS_AND_SHARES = (*LIMITS, "cpu")
MARGIN_BYTES = 256 << 20  # for page tables, kernel memory and what a fork copies before the job begins
EMPTY_LIMIT_S = 5.0  # how long to wait until the last process of a killed group is gone; milliseconds are usual
ABANDONED_LIMIT_S = 2.0  # the same for a group that a killed zygote left behind, whose children end by themselves
POLL_S = 0.002
KILLED_FOR_MEMORY = 1 << 16  # a flag in a wait status, above the bits that the kernel uses: ChildExited in core/plan.h


class Cgroups:
    """The parent groups of all children: one for each hierarchy of version 1, or one of version 2."""

    def __init__(self, parents: list[Path], version: int) -> None:
        self._parents = parents
        self._version = version
        self._left: list[Path] = []  # groups that could not be removed yet

    @staticmethod
    def find(root: Path = ROOT, own: str | None = None) -> "Cgroups | None":
        """Returns groups beside or below the group of this process, tried out by making one; None where there is no
        permission.
        """
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

    def make(self, name: str, memory_bytes: int, is_build: bool = False, device_count: int = 1) -> None:
        limits = {"memory.limit_in_bytes": memory_bytes}
        if self._version == 2:
            limits = {"memory.max": memory_bytes, "memory.swap.max": 0}
        limits["pids.max"] = PROCESSES_MAX * device_count
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
        """Puts the calling process, and all that it forks from then on, into the group."""
        for group in self.groups(name):
            (group / "cgroup.procs").write_text("0", encoding="ascii")

    def killed_for_memory(self, name: str) -> bool:
        """Returns whether the kernel killed a process of the group because the group's memory limit was reached."""
        for group in self.groups(name):
            for file in ("memory.events", "memory.oom_control"):
                if (group / file).exists():
                    counts = dict(line.split() for line in (group / file).read_text(encoding="ascii").splitlines())
                    return counts.get("oom_kill", "0") != "0"
        return False

    def end(self, name: str, limit_s: float = EMPTY_LIMIT_S) -> int:
        """Freezes and kills the processes of a child's group and waits until they are gone. Returns how many are left
        at the limit.
        """
        left = {pid for group in self.groups(name) for pid in kill_all(group, limit_s)}
        return len(left)

    def remove(self, name: str) -> None:
        """Removes a group whose processes have ended. A group that still has processes on their way out is tried again
        at the next call.
        """
        self._left += self.groups(name)
        self._left = [group for group in self._left if not try_remove(group)]

    def close(self) -> None:
        self._left = [group for group in [*self._left, *self._parents] if not try_remove(group)]

    def groups(self, name: str) -> list[Path]:
        return [parent / name for parent in self._parents]


def unified_places(root: Path, own: str) -> list[Path]:
    """Returns where groups of version 2 may be made: below the group of this process, which works in the root group
    alone, or beside it, in a delegated group.
    """
    for controllers, path in memberships(own):
        group = root / path.lstrip("/")
        if not controllers and (group / "cgroup.controllers").exists():
            return [group] if group == root else [group, group.parent]
    return []


def enable_controllers(group: Path) -> None:
    """Allows the children of a group to have limits and processor shares. The kernel refuses limits where the group has
    processes itself; shares are then not asked for, because the kernel would grant them and they would stay.
    """
    for controllers in ("+memory +pids", "+cpu"):
        try:
            (group / "cgroup.subtree_control").write_text(controllers, encoding="ascii")
        except OSError:
            return  # whether the limits are missing shows with the first child


def set_cpu_shares(group: Path, shares: dict[str, int]) -> None:
    """Sets the processor shares of a group, where the group's hierarchy has them."""
    for file, value in shares.items():
        if (group / file).exists():
            with contextlib.suppress(OSError):
                (group / file).write_text(str(value), encoding="ascii")


def own_group_name() -> str:
    """Returns a name from the pid of this process, its start time and its pid namespace. Pids are used again; the start
    time tells two processes apart.
    """
    return f"{PREFIX}{pid_namespace()}-{os.getpid()}-{start_time(os.getpid())}"


def pid_namespace() -> int:
    return os.stat("/proc/self/ns/pid").st_ino


def remove_abandoned(places: list[Path]) -> None:
    """Removes the groups that a killed zygote left behind. Groups of other pid namespaces stay, because this process
    cannot tell whether their zygote lives.
    """
    for group in (group for place in places for group in place.glob(f"{PREFIX}{pid_namespace()}-*")):
        _, pid, start = group.name.removeprefix(PREFIX).split("-")
        if start_time(pid) == start:
            continue
        with contextlib.suppress(FileNotFoundError):  # another zygote may be removing the same group
            for part in [*group.glob("*/"), group]:
                kill_all(part, ABANDONED_LIMIT_S)
                try_remove(part)


def start_time(pid: int | str) -> str | None:
    """Returns when a process began, in clock ticks since the machine started; None when there is no such process."""
    try:
        return (
            Path("/proc", str(pid), "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
        )
    except OSError:
        return None


def kill_all(group: Path, limit_s: float) -> list[int]:
    """Kills every process of a group and waits for the last of them. Returns those that are left at the limit.

    A group of version 2 is frozen first, so that its processes cannot fork while they are counted. Version 1 has no
    such switch in these hierarchies: the group is looked through repeatedly, and its limit of processes keeps them from
    outrunning the loop.
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
        fd = os.open(group / file, os.O_WRONLY)  # opened without O_CREAT: version 1 has no such file
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
    """Returns the groups of version 1 that this process is in: memory, and where they can be written, processes and
    processor shares.
    """
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
    """Yields the controllers and path of each line of /proc/self/cgroup; a line of version 2 has no controllers."""
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
