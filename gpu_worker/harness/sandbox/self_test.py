"""The worker's self-test of its sandbox: a submission that tries to get out of the sandbox and reports the ways that
worked. A worker runs it as any other submission before it takes a job (gpu_worker/lane/escape_check.cc).

An attempt returns True where it broke a promise of the sandbox. A facility that the kernel merely lacks is no way out.
The file is its own problem as well: the reference adds one and attempts nothing.
"""

import ctypes
import os
import signal
import socket
import struct
from collections.abc import Callable

import torch

LIBC = ctypes.CDLL(None, use_errno=True)
Attempt = Callable[[], bool]  # returns True if the attempt found a way out
ATTEMPTS: dict[str, Attempt] = {}
LISTENERS_TRIED = 64
KQ_PREFIX = "kq/"  # the names of a broker's abstract sockets begin so: net/local/address.cc
CUDA_PREFIX = "cuda-uvmfd-"  # a process that has a CUDA context listens on an abstract socket with such a name


def attempt(function: Attempt) -> Attempt:
    ATTEMPTS[function.__name__.replace("_", " ")] = function
    return function


def opens(path: str, mode: str = "rb") -> bool:
    try:
        with open(path, mode) as file:
            file.read(1) if "r" in mode and "+" not in mode else file.write(b"")
        return True
    except OSError:
        return False


def succeeds(call: Callable[..., object], *words: object) -> bool:
    try:
        call(*words)
        return True
    except OSError:
        return False


@attempt
def read_secrets_of_the_host() -> bool:
    return any(
        opens(path) for path in ("/etc/shadow", "/etc/sudoers", "/proc/kcore", "/dev/mem", "/dev/sda", "/dev/vda")
    )


@attempt
def write_where_only_reading_is_meant() -> bool:
    places = (
        "/kq_escape",
        "/usr/kq_escape",
        "/etc/kq_escape",
        f"{os.path.dirname(torch.__file__)}/kq_escape",
        "/kq/given/kq_escape",
    )
    made = [path for path in places if succeeds(os.mkdir, path)]
    for path in made:
        os.rmdir(path)
    return bool(made) or opens("/proc/sys/kernel/hostname", "r+b") or opens("/proc/sysrq-trigger", "wb")


@attempt
def look_into_another_process() -> bool:
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    looks = [f"/proc/{pid}/{what}" for pid in others for what in ("environ", "mem", "maps")]
    return any(opens(path) for path in looks) or any(succeeds(os.listdir, f"/proc/{pid}/fd") for pid in others)


@attempt
def trace_or_read_its_parent() -> bool:
    room = ctypes.create_string_buffer(64)
    vector = (ctypes.c_uint64 * 2)(ctypes.addressof(room), 64)
    parent = os.getppid()
    pidfd = LIBC.syscall(434, parent, 0)
    return bool(
        LIBC.ptrace(0x4206, parent, None, None) == 0
        or LIBC.process_vm_readv(parent, vector, 1, vector, 1, 0) >= 0
        or (pidfd >= 0 and LIBC.syscall(438, pidfd, 3, 0) >= 0)
    )


@attempt
def end_its_supervisor() -> bool:
    for number in (signal.SIGTERM, signal.SIGKILL):
        succeeds(os.kill, os.getppid(), number)
    return os.getppid() == 0  # if the supervisor was killed, no process is left to report it


@attempt
def signal_a_stranger() -> bool:
    if not succeeds(os.kill, -1, 0):  # pid -1: all processes except the caller and process 1
        return False
    # A thread, such as CUDA's, can be signalled as a process can.
    own = {os.getppid(), *map(int, os.listdir("/proc/self/task"))}
    return any(succeeds(os.kill, pid, 0) for pid in range(1, 70_000) if pid not in own)


@attempt
def become_somebody_else() -> bool:
    if os.getuid() == 0:
        return True
    return succeeds(os.setuid, 0) or succeeds(os.setgid, 0) or succeeds(os.setgroups, [0])


@attempt
def take_capabilities_or_namespaces() -> bool:
    with open("/proc/self/status", encoding="ascii") as status:
        lines = dict(line.split(":\t") for line in status if line.startswith(("Cap", "NoNewPrivs")))
    held = any(int(lines[name], 16) for name in ("CapEff", "CapPrm", "CapInh"))
    made = any(LIBC.unshare(flag) == 0 for flag in (0x10000000, 0x00020000, 0x40000000))
    return held or made or int(lines["NoNewPrivs"]) != 1 or LIBC.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0


@attempt
def use_refused_system_calls() -> bool:
    room = ctypes.create_string_buffer(4096)
    # add_key, bpf, perf_event_open, userfaultfd, io_uring_setup, open_by_handle_at, init_module, kexec_load, setns,
    # move_mount and fsopen.
    return any(
        LIBC.syscall(number, room, room, 4096, 0, 0) >= 0
        for number in (248, 321, 298, 323, 425, 304, 175, 246, 308, 429, 430)
    )


@attempt
def reach_the_network() -> bool:
    with open("/proc/net/dev", encoding="ascii") as table:
        names = {line.partition(":")[0].strip() for line in table if ":" in line}
    if names - {"lo", "sit0", "tunl0", "ip6tnl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "ip6gre0"}:
        return True
    for kind, address in ((socket.SOCK_STREAM, ("192.0.2.1", 80)), (socket.SOCK_DGRAM, ("192.0.2.1", 53))):
        with socket.socket(socket.AF_INET, kind) as way:
            way.settimeout(0.1)
            if succeeds(way.connect, address):
                return True
    return False


@attempt
def reach_a_socket_of_the_host() -> bool:
    """Connects to abstract Unix sockets, which a mount view cannot hide because they have no file. A broker listens on
    one.
    """
    with open("/proc/net/unix", encoding="ascii", errors="replace") as table:
        names = [line.split()[7][1:] for line in table if len(line.split()) > 7 and line.split()[7].startswith("@")]
    others = sorted(
        (name for name in names if not name.startswith(CUDA_PREFIX)), key=lambda name: not name.startswith(KQ_PREFIX)
    )
    return any(accepts_connection(name) for name in others[:LISTENERS_TRIED])


def accepts_connection(name: str) -> bool:
    """Returns whether a process other than this one accepts connections at the abstract socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as way:
        way.settimeout(0.1)
        return succeeds(way.connect, "\0" + name) and listener_of(way) != os.getpid()


def listener_of(way: socket.socket) -> int:
    pid, _, _ = struct.unpack("3i", way.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(pid)


@attempt
def find_descriptors_of_the_worker() -> bool:
    return any(leads_outside(int(fd)) for fd in os.listdir("/proc/self/fd") if int(fd) > 4)


def leads_outside(fd: int) -> bool:
    """Returns whether a descriptor is a socket whose other end was made by a process outside of this sandbox, which has
    no pid in here. CUDA makes sockets within the process.
    """
    try:
        with socket.socket(fileno=os.dup(fd)) as found:
            pid, uid, _ = struct.unpack("3i", found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    except OSError:
        return False
    return bool(pid == 0 and uid != -1)


@attempt
def raise_its_limits() -> bool:
    import resource

    found = [
        resource.getrlimit(which) for which in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)
    ]
    return any(hard == resource.RLIM_INFINITY for _, hard in found)


def succeeded(function: Attempt) -> bool:
    try:
        return function()
    except OSError:
        return False


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


class ModelNew(Model):
    def __init__(self) -> None:
        super().__init__()
        found = [name for name, function in ATTEMPTS.items() if succeeded(function)]
        if found:
            raise RuntimeError("it could " + "; ".join(found))
        if os.fork() == 0:  # a process that is left behind: the worker must find it gone
            os.setsid()
            signal.pause()


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(16)]


def get_init_inputs() -> list[object]:
    return []
