"""The fork server: the loop of the zygote, which receives orders, forks children and reports their exits.

The fork server runs in the zygote process, started by zygote/main.py. Theory of operation:

    control process -> fork server    one JSON packet an order (ORDER_FIELDS), with its descriptors
    fork server -> control process    {"id", "pid", "sandbox"} once the child is inside its sandbox, or {"id", "error"}
                                      {"id", "exit", "left"} when the child has ended

The fork server handles one event at a time: an order, the end of children (SIGCHLD through a wake-up pipe), or a look
at the memory of children where no control group limits it. A child is two processes (children/child.py); the fork
server knows the outer one, and holds the other end of its lifeline socket, so that children end when the zygote does.

The zygote must stay forkable: it starts no thread and never initialises CUDA, which check_forkable() verifies before
each fork. Modules are imported once and then frozen out of the garbage collector, because a collection in a child would
copy their pages.
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any, NoReturn

from harness.children.runtime import ChildRuntime, ChildRuntimeError
from harness.zygote import helper_process, imports, malloc_thresholds, shared_code
from harness.zygote.huge_pages import HugePages

PACKET_BYTES = 160 << 10
DESCRIPTORS_MAX = 4
# How many descriptors come with an order: the log pipe, then the channel where the child has one. An audited child has
# an audit pipe besides.
DESCRIPTORS_OF_ROLE = {
    "ready": 2,
    "build": 1,
    "ready_build": 2,
    "record": 1,
    "compile": 1,
    "profile": 2,
    "eval_program": 2,
    "driver_cache": 2,
}
SANDBOX_LIMIT_S = 20.0  # how long a child may take until it reports that it is in its sandbox; milliseconds are usual
PROBE_BYTES = 64 << 20
# The number of children after which the zygote moves its memory into huge pages. The move takes up to 0.6 s, and makes
# each later fork cheaper; a zygote that serves few children would not win it back.
HUGE_PAGES_AFTER = 24
AHEAD_BYTES = 1 << 30  # of the control group of the process that imports ahead, which takes 150 MB

# The fields of an order with their type and default. A field whose default is None is required.
ORDER_FIELDS: dict[str, tuple[type, Any]] = {
    "id": (int, None),
    "role": (str, None),
    "dir": (str, None),
    "device": (str, None),
    "uid": (int, 0),
    "backend": (str, ""),
    "entry": (str, ""),
    "problem": (str, ""),
    "precision": (str, "as_given"),
    "arch": (str, ""),
    "shared": (str, ""),
    "profiler": (str, ""),
    "gpus": (str, ""),
    "device_count": (int, 1),
    "host_bytes": (int, 4 << 30),
    "scratch_bytes": (int, 1 << 30),
    "window_bytes": (int, 8 << 30),  # bytes of the judge's window, which a child maps
    "audit": (bool, False),
    "cores": (list, []),  # processors of a build; empty: all
    "compiler": (bool, False),  # the zygote imports what torch.compile needs before it forks
}


class OrderFailed(Exception):
    """Says in one sentence why an order cannot be carried out."""


def main(
    control_fd: int,
    device: str,
    runtime_path: str,
    with_cgroups: bool = True,
    cores: Set[int] = frozenset(),
    architecture: int = 0,
    shared_code_bytes_max: int = 0,
) -> int:
    control = socket.socket(fileno=control_fd)
    malloc_thresholds.keep_freed_memory()
    gc.disable()  # a collection finds nothing: imported modules stay
    runtime = ChildRuntime(runtime_path)
    huge_pages = HugePages(runtime)
    try:
        versions = imports.import_everything(device)
        imports.prepare_triton(device)
    except ImportError as error:
        words = (
            f"{sys.executable} cannot import torch, triton and numpy ({error}); "
            "set KQ_PYTHON to an interpreter that can"
        )
        control.send(json.dumps({"error": words}).encode())
        return 3
    huge_pages.finish_imports()
    shared_bytes = share_code(architecture, shared_code_bytes_max, cores) if architecture != 0 else 0
    try:
        server = ForkServer(control, device, runtime, huge_pages, with_cgroups, cores, shared_bytes)
        layers = server.probe_sandbox()
    except (OSError, OrderFailed) as error:
        control.send(json.dumps({"error": f"this machine allows no sandbox: {error}"}).encode())
        return 3
    control.send(json.dumps({"ready": True, **versions, "sandbox": layers}).encode())
    if device == "cuda":
        server.import_ahead()
    server.loop()
    return 0


def share_code(architecture: int, bytes_max: int, cores: Set[int]) -> int:
    """Returns how many bytes of decompressed device code children inherit. Without it they work as well, so no failure
    ends the zygote.
    """
    try:
        return shared_code.share(architecture, bytes_max, cores)
    except Exception as error:
        print(f"kq: torch's device code stays as it is: {error}", file=sys.stderr, flush=True)
        return 0


@dataclass
class ForkedChild:
    """A child as the fork server knows it: the outer process of children/child.py."""

    order_id: int | None
    lifeline: socket.socket
    group: str  # the name of its control group
    over_memory: bool = False  # set when the watchdog has killed the child


class ForkServer:
    def __init__(
        self,
        control: socket.socket,
        device: str,
        runtime: ChildRuntime,
        huge_pages: HugePages,
        with_cgroups: bool,
        cores: Set[int],
        shared_bytes: int = 0,
    ) -> None:
        from harness.sandbox.cgroup import Cgroups
        from harness.sandbox.sandbox import ALL_LAYERS
        from harness.sandbox.watchdog import Watchdog

        self._control = control
        self._device = device
        self._cores = cores
        self._runtime = runtime
        self._huge_pages = huge_pages
        self._layers_wanted = ALL_LAYERS
        self._cgroups = Cgroups.find() if with_cgroups else None
        self._watchdog = Watchdog(inherited_shared=shared_bytes) if self._cgroups is None else None
        self._children: dict[int, ForkedChild] = {}
        # No process of a job may inspect the zygote. Processes that outlive a child become children of the zygote,
        # which kills them.
        self._runtime.hide()
        self._runtime.become_subreaper()
        self._wake, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._forks = 0
        self._are_prepared: set[Callable[[], None]] = set()  # functions that have imported their modules
        gc.freeze()  # a collection in a child would copy every page of what was imported
        gc.enable()

    def probe_sandbox(self) -> str:
        """Returns the sandbox layers that this machine allows, found by forking one child with them. Where the kernel
        lets a mount view fail half-way, the probe is repeated without the mount layer.
        """
        from harness.sandbox.sandbox import MOUNT

        try:
            return self.fork_probe_child()
        except OrderFailed:
            self._layers_wanted &= ~MOUNT
            return self.fork_probe_child()

    def fork_probe_child(self) -> str:
        null = os.open("/dev/null", os.O_RDWR)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        uid = 65534 if os.geteuid() == 0 else 0
        order = validate_order(
            {
                "id": 0,
                "role": "ready",
                "device": self._device,
                "dir": "/",
                "uid": uid,
                "scratch_bytes": PROBE_BYTES,
            }
        )
        try:
            pid, layers = self.fork(order, [null, theirs.fileno()])
        finally:
            os.close(null)
            ours.close()
            theirs.close()
        self._children[pid].order_id = None
        os.kill(pid, signal.SIGKILL)
        return layers

    def import_ahead(self) -> None:
        """Forks a process that imports what later orders may need (prepare_shared_state), and ends. The files of the
        modules are then in the host's memory. From a cold disk the imports take 10 s, in which no child is forked, and
        2 s with the files in memory (16 processors, torch 2.11). Where the process cannot be made, nothing else fails.
        """
        group = "import-ahead"
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                if self._cgroups is not None:
                    self._cgroups.make(group, AHEAD_BYTES, is_build=True)
                zygote, pid = os.getpid(), os.fork()
            except OSError:
                self.close_cgroup(group)
                ours.close()
                return
            if pid == 0:
                self.import_and_exit(zygote, group, theirs.fileno())
        self._children[pid] = ForkedChild(None, ours, group)

    def import_and_exit(self, zygote: int, group: str, lifeline: int) -> NoReturn:
        """Runs the process that imports ahead. It has the descriptors of a child without a job, because a socket of the
        fork server that stays open would hide the end of the fork server.
        """
        code = 1
        try:
            from harness.children.child import install_descriptors
            from harness.extensions import tracing_child

            helper_process.end_with(zygote)
            install_descriptors(sys.stderr.fileno(), None, lifeline, None)
            self.enter_cgroup(group)
            for prepare in (tracing_child.prepare, imports.import_compiler):
                self.prepare_once(prepare)
            code = 0
        except BaseException as error:
            print(f"kq: modules are not imported ahead: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)

    def loop(self) -> None:
        """Handles events until the control process closes its socket. Children end with the zygote, because their
        lifelines close.
        """
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll(self.poll_timeout_ms())}
            self.kill_over_memory()
            if self._wake in ready:
                os.read(self._wake, 4096)
                self.reap()
            if self._control.fileno() in ready and not self.handle_order():
                break
        if self._cgroups is not None:
            self._cgroups.close()

    def poll_timeout_ms(self) -> int | None:
        """Returns how long poll() may wait until the memory of children must be checked; None without a limit."""
        from harness.sandbox.watchdog import POLL_MS

        return None if self._watchdog is None or self._watchdog.idle else POLL_MS

    def kill_over_memory(self) -> None:
        if self._watchdog is None:
            return
        for pid in self._watchdog.over_limit():
            self._children[pid].over_memory = True
            self._watchdog.forget(pid)
            os.kill(pid, signal.SIGKILL)

    def handle_order(self) -> bool:
        """Carries out one order and answers it. Returns False when the control process is gone."""
        try:
            packet, fds, _, _ = socket.recv_fds(self._control, PACKET_BYTES, DESCRIPTORS_MAX, socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError:
            return False
        if not packet:
            return False
        order_id = 0
        try:
            order = parse_order(packet)
            order_id = order.get("id", 0)
            validate_order(order)
            expected = DESCRIPTORS_OF_ROLE[order["role"]] + order["audit"]
            if len(fds) != expected:
                raise OrderFailed(f"{len(fds)} descriptors came with a {order['role']} order, expected {expected}")
            pid, layers = self.fork(order, fds)
            answer = {"id": order_id, "pid": pid, "sandbox": layers}
        except (OrderFailed, OSError) as error:
            answer = {"id": order_id, "error": str(error)}
        finally:
            for fd in fds:
                os.close(fd)
        self.report(answer)
        return True

    def prepare_shared_state(self, order: dict[str, Any]) -> None:
        """Does once in the zygote what each child would otherwise repeat: opens NVRTC, and imports what tracing and
        torch.compile need.

        In a zygote that has a GPU, NVRTC is opened only if it is the library that torch has loaded, because a torch
        that looks for its own NVRTC would find the opened one instead.
        """
        from harness.extensions import tracing_child
        from harness.kernels import nvrtc

        if (
            order["role"] in ("build", "ready_build")
            and order["backend"] == "cuda"
            and (self._device == "cpu" or nvrtc.is_torch_library())
        ):
            with contextlib.suppress(nvrtc.NvrtcMissing):  # the build child reports a missing NVRTC
                nvrtc.shared_nvrtc()
        if order["role"] == "record":
            self.prepare_once(tracing_child.prepare)
        if order["compiler"]:
            self.prepare_once(imports.import_compiler)

    def prepare_once(self, prepare: Callable[[], None]) -> None:
        """Calls a function that imports modules, unless it was called before. Modules may look for a GPU, so that none
        is visible meanwhile.
        """
        if prepare in self._are_prepared:
            return
        self._are_prepared.add(prepare)
        gc.disable()
        with imports.without_visible_gpus(), imports.told_that_there_is_a_gpu(self._device):
            prepare()
        gc.freeze()
        gc.enable()

    def fork(self, order: dict[str, Any], fds: list[int]) -> tuple[int, str]:
        """Forks a child and waits until it is in its sandbox. Returns the pid to kill and the layers in force. Raises
        OrderFailed, after which nothing of the child is left.
        """
        from harness.children.child import BUILDS, Child
        from harness.sandbox.cgroup import MARGIN_BYTES

        self.check_forkable()
        self._forks += 1
        self.prepare_shared_state(order)
        if self._forks == HUGE_PAGES_AFTER:
            self._huge_pages.collapse()
        cores = set(order["cores"]) if order["role"] in BUILDS else self._cores
        child = Child(order, self._runtime, self._layers_wanted, cores)
        group = f"child-{self._forks}"
        memory_bytes = order["host_bytes"] + order["scratch_bytes"] + MARGIN_BYTES
        if self._cgroups is not None:
            self._cgroups.make(group, memory_bytes, order["role"] in BUILDS, order["device_count"])
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            b = child.fork()
        except ChildRuntimeError as error:
            ours.close()
            theirs.close()
            self.close_cgroup(group)
            raise OrderFailed(str(error)) from error
        if b == 0:
            channel = fds[1] if len(fds) > 1 else None
            child.run(
                lambda: self.enter_cgroup(group), fds[0], channel, theirs.fileno(), fds[2] if order["audit"] else None
            )
        theirs.close()
        ours.settimeout(SANDBOX_LIMIT_S)
        self._children[b] = ForkedChild(order["id"], ours, group)
        try:
            layers = self.await_sandbox(ours)
        except (OrderFailed, OSError) as error:
            self._children[b].order_id = None  # the error is reported now, not when the child is reaped
            os.kill(b, signal.SIGKILL)
            raise OrderFailed(str(error)) from error
        ours.setblocking(False)
        if self._watchdog is not None:
            self._watchdog.watch(b, memory_bytes + order["window_bytes"])
        return b, f"{layers},{'watchdog' if self._cgroups is None else 'cgroup'}"

    def enter_cgroup(self, group: str) -> None:
        """Puts the calling process, and all that it forks from then on, into the control group."""
        if self._cgroups is not None:
            self._cgroups.enter(group)

    def await_sandbox(self, lifeline: socket.socket) -> str:
        """Waits for the child's first packet on its lifeline and returns the layers in force. Raises OrderFailed with
        the child's error.
        """
        try:
            word, _, rest = lifeline.recv(1024).decode(errors="replace").partition(" ")
        except TimeoutError as error:
            raise OrderFailed(f"a child was not in its sandbox after {SANDBOX_LIMIT_S:.0f} s") from error
        if word != "in":
            raise OrderFailed(rest or "a child died before it was in its sandbox")
        return rest

    def check_forkable(self) -> None:
        """Raises OrderFailed if CUDA is initialised or a GPU device is open: a forked child could not use its GPU."""
        import torch

        if torch.cuda.is_initialized():
            raise OrderFailed("CUDA is initialised in the zygote")
        for fd in os.listdir("/proc/self/fd"):
            try:
                target = os.readlink(f"/proc/self/fd/{fd}")
            except FileNotFoundError:
                continue  # the descriptor that os.listdir used itself
            if target.startswith("/dev/nvidia"):
                raise OrderFailed(f"the zygote has {target} open")

    def reap(self) -> None:
        """Reports every child that has ended, and kills the processes that it left behind."""
        from harness.sandbox.cgroup import KILLED_FOR_MEMORY

        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.kill_reparented_processes()
            child = self._children.pop(pid, None)
            if child is not None:
                end = exit_status(child.lifeline, status)
                killed, left = self.close_cgroup(child.group)
                if self._watchdog is not None:
                    self._watchdog.forget(pid)
                if child.over_memory:
                    killed, end = KILLED_FOR_MEMORY, int(signal.SIGKILL)
                if child.order_id is not None:
                    self.report({"id": child.order_id, "exit": end | killed, "left": left})
                child.lifeline.close()

    def close_cgroup(self, group: str) -> tuple[int, int]:
        """Kills what is left in the control group and removes the group. Returns the flag KILLED_FOR_MEMORY for the
        wait status, or 0, and the number of processes that could not be killed.
        """
        from harness.sandbox.cgroup import KILLED_FOR_MEMORY

        if self._cgroups is None:
            return 0, 0
        left = self._cgroups.end(group)
        killed = self._cgroups.killed_for_memory(group)
        self._cgroups.remove(group)
        return KILLED_FOR_MEMORY if killed else 0, left

    def kill_reparented_processes(self) -> None:
        """Kills processes that outlived their child and became children of the zygote, which happens without a pid
        namespace.
        """
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as children:
                pids = [int(pid) for pid in children.read().split()]
        except OSError:
            return
        for pid in pids:
            if pid not in self._children:
                os.kill(pid, signal.SIGKILL)

    def report(self, answer: dict[str, Any]) -> None:
        try:
            self._control.send(json.dumps(answer).encode())
        except (BrokenPipeError, ConnectionResetError):
            pass  # the loop sees the closed socket, and ends


def exit_status(lifeline: socket.socket, status: int) -> int:
    """Returns the wait status of the job process, as the child's supervisor sent it, or `status`, which is the
    supervisor's own, if the supervisor was killed before it could send one.
    """
    lifeline.setblocking(False)
    try:
        word, _, rest = lifeline.recv(64).decode(errors="replace").partition(" ")
    except OSError:
        return status
    return int(rest) if word == "exit" else status


def parse_order(packet: bytes) -> dict[str, Any]:
    try:
        order = json.loads(packet)
    except ValueError as error:
        raise OrderFailed(f"the order is no JSON: {error}") from error
    if not isinstance(order, dict):
        raise OrderFailed("the order is no JSON object")
    return order


def validate_order(order: dict[str, Any]) -> dict[str, Any]:
    """Fills in the defaults of an order and checks the types of its fields. Raises OrderFailed."""
    for name, (kind, default) in ORDER_FIELDS.items():
        value = order.setdefault(name, default)
        numbers = value if isinstance(value, list) else [value] if kind is int else []
        if not isinstance(value, kind) or not all(isinstance(each, int) and each >= 0 for each in numbers):
            words = {int: "a number", list: "a list of numbers"}.get(kind, "a text")
            raise OrderFailed(f"the order's {name} is {value!r}, expected {words}")
    if order["role"] not in DESCRIPTORS_OF_ROLE:
        raise OrderFailed(f"unknown role '{order['role']}'; known are {', '.join(DESCRIPTORS_OF_ROLE)}")
    return order
