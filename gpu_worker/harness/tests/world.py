"""What the tests of children use: a real zygote, with a small control process and a small judge."""

import atexit
import ctypes
import json
import mmap
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cuda_window import CudaWindow
from harness.children.page import MAGIC, Command, Failure, Page, Status, TensorDesc

STUB = os.environ.get("KQ_TEST_STUB", "")
HARNESS = Path(os.environ.get("KQ_TEST_HARNESS", Path(__file__).resolve().parent.parent))
# the interpreter of KQ_PYTHON may fork a process that has torch imported
PYTHON = os.environ.get("KQ_PYTHON") or sys.executable
# As root, children get a uid of their own, as the worker gives them one.
UID = 61900 if os.geteuid() == 0 else 0

BUILDS = ("build", "record", "compile")  # roles without a channel
WINDOW_BYTES = 1 << 20
LIMIT_S = 60

RELU = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(4, 8)]
def get_init_inputs():
    return []
"""
RELU_NEW = RELU.replace("Model", "ModelNew")
# A submission that begins with this text sees an arena everywhere, as if torch allocated in one that the judge has
# mapped.
ARENA_IS_EVERYWHERE = """
import harness.children.command_handler
harness.children.command_handler.CommandHandler._arena = property(lambda self: (0, 1 << 62), lambda self, value: None)
"""


class Zygote:
    """The control process's end of one zygote."""

    def __init__(
        self, python: str = PYTHON, device: str = "cpu", harness: Path = HARNESS, more: tuple[str, ...] = ()
    ) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket = ours
        self.device = device
        command = [python, str(harness / "zygote/main.py"), "--device", device, "--stub", STUB, *more]
        # The zygote finds its socket as descriptor 3, whatever its number is here. Not every sh takes two digits.
        shell = ["bash", "-c", f'exec "$@" 3<&{theirs.fileno()}', "bash", *command]
        environment = {
            **os.environ,
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
            "CUDA_VISIBLE_DEVICES": "0" if device == "cuda" else "",
        }
        self.process = subprocess.Popen(shell, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment)
        theirs.close()
        self._next_id = 0
        self._packets: list[dict[str, Any]] = []
        self.hello = self.receive(LIMIT_S)

    def receive(self, timeout_s: float) -> dict[str, Any]:
        self.socket.settimeout(timeout_s)
        packet = self.socket.recv(1 << 18)
        if not packet:
            raise EOFError("the zygote closed its socket")
        return json.loads(packet)

    def await_packet(self, wanted: Callable[[dict[str, Any]], bool], timeout_s: float = LIMIT_S) -> dict[str, Any]:
        """Returns the first packet that is wanted; other packets are kept for later."""
        deadline = time.monotonic() + timeout_s
        while True:
            for i, packet in enumerate(self._packets):
                if wanted(packet):
                    return self._packets.pop(i)
            self._packets.append(self.receive(max(0.001, deadline - time.monotonic())))

    def send(self, order: dict[str, Any], fds: list[int]) -> int:
        self._next_id += 1
        socket.send_fds(self.socket, [json.dumps({"id": self._next_id, **order}).encode()], fds)
        return self._next_id

    def exit_of(self, order_id: int, timeout_s: float = LIMIT_S) -> int:
        return self.await_packet(lambda p: p.get("id") == order_id and "exit" in p, timeout_s)["exit"]

    def close(self) -> None:
        """Ends the zygote by closing its socket, as the death of the control process would."""
        self.socket.close()
        self.process.wait(LIMIT_S)


class Child:
    """A child and the judge's end of its channel."""

    def __init__(self, zygote: Zygote, directory: Path, files: dict[str, str | bytes], **order: Any) -> None:
        self.zygote = zygote
        self.dir = directory
        self.device = zygote.device
        for name in ("src", "work", "out"):
            (directory / name).mkdir(parents=True)
            if UID != 0 and name != "src":
                os.chown(directory / name, UID, UID)
        for name, content in files.items():
            (directory / "src" / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        role = order.get("role", "submission")
        reader, writer = os.pipe()
        self.log_fd = reader
        fds = [writer]
        theirs = None
        if role not in BUILDS:
            self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            fds.append(theirs.fileno())
        if order.get("audit"):
            self.audit_fd, audit = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            fds.append(audit)
        told = {
            "role": role,
            "device": self.device,
            "backend": "torch",
            "dir": str(directory),
            "uid": UID,
            "entry": "new.py",
            "problem": "problem.py",
            "precision": "as_given",
            "arch": "sm_90",
            "host_bytes": 1 << 30,
            "scratch_bytes": 64 << 20,
            **order,
        }
        # A launcher is one from its fork on, but the reference of device code is Python.
        backend = "torch" if role == "reference" else told["backend"]
        self.id = zygote.send(told if role in BUILDS else {**told, "role": "ready", "backend": backend}, fds)
        os.close(writer)
        if order.get("audit"):
            os.close(audit)
        if theirs is not None:
            theirs.close()
        answer = zygote.await_packet(lambda p: p.get("id") == self.id and "exit" not in p)
        self.error = answer.get("error")
        self.pid = answer.get("pid")
        if role not in BUILDS and self.error is None:
            self.channel.send(b"go")
            if self.device == "cuda" and backend != "cuda":
                self.channel.send(b"skip")  # a Python child on a GPU offers to load kernels
            self.channel.send(
                json.dumps({name: told[name] for name in ("role", "backend", "entry", "problem", "precision")}).encode()
            )
            self.page = self.share_page()
            self.window: mmap.mmap | CudaWindow | None = None

    def share_page(self) -> Page:
        fd = os.memfd_create("page")
        os.ftruncate(fd, ctypes.sizeof(Page))
        self.memory = mmap.mmap(fd, ctypes.sizeof(Page))
        page = Page.from_buffer(self.memory)
        page.magic, page.page_bytes = MAGIC, ctypes.sizeof(Page)
        socket.send_fds(self.channel, [b"P"], [fd])
        os.close(fd)
        return page

    def share_window(self, size: int = WINDOW_BYTES) -> None:
        if self.device == "cuda":
            self.window = CudaWindow(size)
            self.page.window_bytes = self.window.size
            socket.send_fds(self.channel, [b"W"], [self.window.fd])
            self.window.close_fd()
            return
        fd = os.memfd_create("window")
        os.ftruncate(fd, size)
        self.window = mmap.mmap(fd, size)
        self.page.window_bytes = size
        socket.send_fds(self.channel, [b"W"], [fd])
        os.close(fd)

    def begin(self, command: Command, seed: int = 1) -> None:
        self.page.command, self.page.seed = command, seed
        self.page.go += 1
        _futex_wake(ctypes.addressof(self.page) + Page.go.offset)

    def is_done(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while self.page.done != self.page.go:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.0005)
        return True

    def do(self, command: Command, seed: int = 1, timeout_s: float = LIMIT_S) -> tuple[Status, Failure, str]:
        """Sends one command and returns its answer."""
        self.begin(command, seed)
        if not self.is_done(timeout_s):
            raise TimeoutError(f"{command.name}: no answer; log: {self.log(0.5)!r}")
        return Status(self.page.status), Failure(self.page.failure), self.page.text[: self.page.text_bytes].decode()

    def layout(self) -> None:
        """Gives every tensor of the tables its place in the window."""
        offset = 0
        for table in ("inputs", "outputs", "states"):
            for entry in getattr(self.page, table)[: getattr(self.page, f"{table[:-1]}_count")]:
                entry.offset = offset
                offset += (entry.bytes + 255) // 256 * 256

    def copy_tables(self, other: Page) -> None:
        for table in ("inputs", "outputs", "states"):
            setattr(self.page, f"{table[:-1]}_count", getattr(other, f"{table[:-1]}_count"))
            ctypes.memmove(getattr(self.page, table), getattr(other, table), getattr(Page, table).size)
        for tree in ("input_tree", "output_tree"):
            setattr(self.page, tree, getattr(other, tree))
            setattr(self.page, f"{tree}_bytes", getattr(other, f"{tree}_bytes"))

    def bytes_of(self, entry: TensorDesc) -> bytes:
        assert self.window is not None
        return bytes(self.window[entry.offset : entry.offset + entry.bytes])

    def put(self, entry: TensorDesc, data: bytes) -> None:
        assert self.window is not None
        self.window[entry.offset : entry.offset + len(data)] = data

    def kill(self) -> int:
        os.kill(self.pid, signal.SIGKILL)
        return self.zygote.exit_of(self.id)

    def log(self, timeout_s: float = 5) -> str:
        """Returns what the child has printed, up to its end or the time limit."""
        chunks = []
        while select.select([self.log_fd], [], [], timeout_s)[0]:
            chunk = os.read(self.log_fd, 65536)
            if not chunk:
                break
            chunks.append(chunk)
        return b"".join(chunks).decode(errors="replace")

    def close(self) -> None:
        os.close(self.log_fd)
        if hasattr(self, "channel"):
            self.channel.close()


class WorldTest(unittest.TestCase):
    """A test with one zygote for all tests of a program, because a zygote takes seconds to start. Folders and children
    end with each test.
    """

    zygote: Zygote
    device = "cpu"

    @classmethod
    def setUpClass(cls) -> None:
        cls.zygote = shared_zygote(cls.device)

    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="kq-harness."))
        self.root.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self._children = 0

    def child(self, files: dict[str, str | bytes], **order: Any) -> Child:
        self._children += 1
        child = Child(self.zygote, self.root / str(self._children), files, **order)
        self.addCleanup(child.close)
        if child.pid is not None:
            self.addCleanup(self._end, child.pid)
        return child

    def pair(
        self, problem: str, new: str, more: dict[str, str | bytes] | None = None, **order: Any
    ) -> tuple[Child, Child]:
        """Returns a reference that is loaded and attached, and a submission that is attached and has the reference's
        state and tables.
        """
        reference = self.child({"problem.py": problem}, role="reference", **order)
        self.assert_ok(reference.do(Command.LOAD, 7))
        reference.layout()
        reference.share_window()
        self.assert_ok(reference.do(Command.ATTACH))
        self.assert_ok(reference.do(Command.PUT_STATE))
        submission = self.child({"problem.py": problem, "new.py": new, **(more or {})}, **order)
        submission.share_window()
        submission.copy_tables(reference.page)
        self.assert_ok(submission.do(Command.ATTACH))
        for entry in reference.page.states[: reference.page.state_count]:
            submission.put(entry, reference.bytes_of(entry))
        return reference, submission

    def submission(self, new: str, more: dict[str, str | bytes] | None = None, **order: Any) -> Child:
        """Returns an attached submission for RELU. It has the tables of a reference, which is not needed any more."""
        submission = self.child({"problem.py": RELU, "new.py": new, **(more or {})}, **order)
        submission.share_window()
        submission.copy_tables(self.tables_of_relu())
        self.assert_ok(submission.do(Command.ATTACH))
        return submission

    def tables_of_relu(self) -> Page:
        """Returns the tables of a reference that is loaded once."""
        if self.device not in _relu_tables:
            reference = self.child({"problem.py": RELU}, role="reference")
            self.assert_ok(reference.do(Command.LOAD, 7))
            reference.layout()
            _relu_tables[self.device] = Page.from_buffer_copy(reference.page)
        return _relu_tables[self.device]

    def assert_ok(self, answer: tuple[Status, Failure, str]) -> None:
        self.assertEqual(answer, (Status.OK, Failure.NONE, ""))

    def assert_failed(self, answer: tuple[Status, Failure, str], failure: Failure, words: str) -> None:
        self.assertEqual(answer[:2], (Status.FAILED, failure), answer[2])
        self.assertIn(words, answer[2])

    def _end(self, pid: int) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


_zygotes: dict[str, Zygote] = {}
_relu_tables: dict[str, Page] = {}


def shared_zygote(device: str) -> Zygote:
    """Returns the zygote that all tests share; it ends with the program."""
    if device not in _zygotes:
        zygote = Zygote(device=device)
        if "ready" not in zygote.hello:
            raise AssertionError(f"no zygote: {zygote.hello}")
        _zygotes[device] = zygote
        atexit.register(zygote.close)
    return _zygotes[device]


def take_shared_zygote(device: str) -> Zygote:
    """Returns the shared zygote for a test that ends it; later tests get a new one."""
    zygote = shared_zygote(device)
    del _zygotes[device]
    return zygote


_libc = ctypes.CDLL(None)
_SYS_FUTEX, _FUTEX_WAKE = 202, 1


def _futex_wake(address: int) -> None:
    _libc.syscall(_SYS_FUTEX, ctypes.c_void_p(address), _FUTEX_WAKE, 1, None, None, 0)
