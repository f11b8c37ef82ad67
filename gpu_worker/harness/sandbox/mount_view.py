"""The mount view of a child: the files and devices that it sees. The zygote computes the plan as text;
gpu_worker/child/runtime/view.h describes the format, and the C++ of the sandbox carries it out.
"""

import functools
import glob
import os
import sys
from collections.abc import Iterable
from pathlib import Path

# Paths inside the view. They are short and the same on every machine, because tracebacks show them.
SOURCE = Path("/kq/src")
GIVEN = Path("/kq/given")  # the files of a job as the worker wrote them, where SOURCE is a copy that may be written
WORK = Path("/kq/work")
OUT = Path("/kq/out")
SHARED = Path("/kq/shared")

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# What libraries and Python look up in /etc; no file in the list holds secrets.
ETC = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "passwd",
    "group",
    "nsswitch.conf",
    "localtime",
    "alternatives",
    "python3*",
)
DEVICES = ("null", "zero", "full", "random", "urandom")
# What processes of several devices look up besides, to find one another and to set up NCCL.
ETC_OF_SEVERAL_DEVICES = ("hosts", "nccl.conf")
GPU_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
CUDA_SETTINGS = ("KQ_CUDA", "CUDA_HOME", "CUDA_PATH")
PROFILERS = "/opt/nvidia/nsight-compute"  # where the packages of ncu put the files that its command starts
INODES = 20_000  # the limit of files in /tmp, /dev/shm, the work directory and the copy of the source together


def mount_plan(
    directory: Path,
    scratch_bytes: int,
    runtime: str,
    gpu: bool,
    keeps_root: bool,
    has_out: bool,
    has_copy: bool = False,
    shared: str = "",
    profiler: str = "",
    gpus: str = "",
    device_count: int = 1,
) -> str:
    """Returns the plan of one child's view. The part that is equal for all children is cached by machine_plan(). A
    child with `gpus`, a value of CUDA_VISIBLE_DEVICES, sees these GPUs instead of the zygote's own.
    """
    lines: list[list[str]] = [["scratch", str(scratch_bytes), str(INODES), "/tmp", "/dev/shm", str(WORK)]]
    if has_copy:
        lines[0].append(str(SOURCE))
    own = [["ro", str(directory / "src"), str(GIVEN if has_copy else SOURCE)], ["work", str(directory / "work")]]
    if has_out:
        own.append(["rw", str(directory / "out"), str(OUT)])
    if profiler:
        own += [
            ["ro", os.path.realpath(path), path]
            for path in uncovered([str(Path(profiler).parent), *glob.glob(PROFILERS)])
        ]
    if shared:
        own.append(["ro", shared, str(SHARED)])
    if device_count > 1:
        own += [["ro", path, path] for path in (f"/etc/{name}" for name in ETC_OF_SEVERAL_DEVICES)]
    visible = (gpus or os.environ.get("CUDA_VISIBLE_DEVICES", "")) if gpu else None
    return text_of(lines) + machine_plan(runtime, visible, keeps_root) + text_of(own)


def text_of(lines: list[list[str]]) -> str:
    return "".join("\t".join(line) + "\n" for line in lines)


@functools.cache
def machine_plan(runtime: str, gpus: str | None, keeps_root: bool) -> str:
    lines = system_lines()
    lines += [
        ["ro", os.path.realpath(path), path]
        for path in uncovered(python_paths() + cuda_paths() + [str(Path(runtime).parent)])
    ]
    lines += [["ro", path, path] for name in ETC for path in sorted(glob.glob(f"/etc/{name}"))]
    lines += [["ro", "/sys", "/sys"]]
    lines += [["dev", f"/dev/{name}"] for name in DEVICES]
    lines += [["dev", node] for node in ([] if gpus is None else gpu_nodes(gpus))]
    lines += [["link", "/proc/self/fd", "/dev/fd"]]
    lines += [["link", f"/proc/self/fd/{fd}", f"/dev/{name}"] for fd, name in enumerate(("stdin", "stdout", "stderr"))]
    lines += [["proc", "/proc"]]
    if keeps_root:
        # Files below /proc/sys belong to root, and root needs no capability to write to them.
        lines += [["ro", "/proc/sys", "/proc/sys"]]
    return text_of(lines)


def system_lines() -> list[list[str]]:
    """Returns the lines for the system's directories; where /bin is a link into /usr, the view has the same link."""
    lines = []
    for path in SYSTEM:
        if os.path.islink(path):
            lines.append(["link", os.readlink(path), path])
        elif os.path.isdir(path):
            lines.append(["ro", path, path])
    return lines


def python_paths() -> list[str]:
    """Returns where this interpreter, its modules and the harness lie, and the paths of LD_LIBRARY_PATH."""
    paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable))]
    paths += [path for path in sys.path if path]
    paths.append(str(Path(__file__).resolve().parents[1]))
    paths += [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    return paths


def cuda_paths() -> list[str]:
    told = [os.environ[name] for name in CUDA_SETTINGS if os.environ.get(name)]
    return told + sorted(glob.glob("/usr/local/cuda*")) + ["/usr/local/nvidia"]


def uncovered(paths: Iterable[str]) -> list[str]:
    """Returns the absolute paths that exist and do not lie below a path that is in the view already; outer paths first.

    A path that leads through links is returned under both names.
    """
    names = {name for path in paths for name in (os.path.abspath(path), os.path.realpath(path))}
    found: list[str] = []
    for name in sorted(names):
        inside = any(name == other or name.startswith(other.rstrip("/") + "/") for other in (*SYSTEM, *found))
        if os.path.exists(name) and not inside and name != "/" and not set(name) & {"\t", "\n"}:
            found.append(name)
    return found


def gpu_nodes(gpus: str) -> list[str]:
    """Returns the device nodes of these GPUs, or of all GPUs if the node of one of them is not known."""
    common = [f"/dev/{name}" for name in GPU_DEVICES]
    minors = minors_by_uuid()
    wanted = gpus.split(",")
    if all(uuid in minors for uuid in wanted):
        return [*common, *(f"/dev/nvidia{minors[uuid]}" for uuid in wanted)]
    return common + sorted(glob.glob("/dev/nvidia[0-9]*"))


def minors_by_uuid(pattern: str = "/proc/driver/nvidia/gpus/*/information") -> dict[str, int]:
    """Returns the minor device numbers of the GPUs that have a node here, by UUID."""
    minors = {}
    for path in glob.glob(pattern):
        lines = [line.partition(":") for line in Path(path).read_text(errors="replace").splitlines()]
        facts = {name.strip(): value.strip() for name, _, value in lines}
        minor = facts.get("Device Minor", "")
        if minor.isdigit() and os.path.exists(f"/dev/nvidia{minor}"):
            minors[facts.get("GPU UUID", "")] = int(minor)
    return minors
