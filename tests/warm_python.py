"""An interpreter that has torch imported already, for tests that start workers: each import takes two seconds of
processor time.

    warm_python.py serve FOLDER STUB HARNESS
        imports what a zygote imports, and forks for each request, until its standard input closes
    warm_python.py run FOLDER WORDS...
        stands for that interpreter: `zygote.py --device ...` and `-c ...` become forks, all else a fresh interpreter

scripts/test starts the first and makes of the second a file that KQ_PYTHON names. What runs is the real zygote, from
its first line on, in a process that forked where another would have imported: of two, because triton is another one
where it is to interpret kernels, which is without a GPU alone. Programs given with -c are forks of the one that
compiles. Who asked lives as long as the fork does: it ends with the fork's exit code, and the fork is killed when it
dies.

A fork is a child of the server, not of the process that asked for it. FOLDER/forks/PID, PID being the number of the
process that asked, is a symbolic link whose target is the process number of the fork: a test that looks for a zygote's
children starts there.
"""

import atexit
import contextlib
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import time
import traceback
from pathlib import Path

FDS = (0, 1, 2, 3)  # the descriptors that a client passes on; 3 is the socket of the control process
FDS_MAX = 1024  # the number of descriptors that a process of the tests may have open
REQUEST_BYTES = 128 << 10
CONNECT_LIMIT_S = 60.0  # the server listens before it imports


def run(folder: Path, words: list[str]) -> int:
    server = None
    if words and (words[0] == "-c" or Path(words[0]).parts[-2:] == ("zygote", "main.py")):
        hold(FDS[-1])
        server = connect(folder / ("cpu" if words[1:3] == ["--device", "cpu"] else "cuda"))
    if server is None:
        os.execv(sys.executable, [sys.executable, *words])
    request = {"words": words, "environment": dict(os.environ), "directory": os.getcwd(), "asker": os.getpid()}
    socket.send_fds(server, [json.dumps(request).encode()], FDS)
    os.closerange(3, server.fileno())  # so that the control process notices when the fork ends
    os.closerange(server.fileno() + 1, FDS_MAX)
    return int(server.recv(16) or 1)


def hold(fd: int) -> None:
    """Moves the descriptor out of the way, so that no other descriptor of this process gets the number."""
    try:
        os.fstat(fd)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_RDONLY), fd)


def connect(path: Path) -> socket.socket | None:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end = time.monotonic() + CONNECT_LIMIT_S
    while path.parent.exists() and time.monotonic() < end:
        try:
            server.connect(str(path))
            return server
        except OSError:
            time.sleep(0.02)
    return None


def listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    listener.listen(64)
    return listener


def serve(folder: Path, stub_path: str, harness: Path) -> int:
    forks = folder / "forks"
    forks.mkdir(exist_ok=True)
    listeners = {device: listen(folder / device) for device in ("cpu", "cuda")}
    device = import_as_zygotes_do(stub_path, harness)
    listener = listeners.pop(device)
    listeners.popitem()[1].close()
    wake, tell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    clients: dict[int, socket.socket] = {}  # the client's connection by the pid of its fork
    while True:
        ready, _, _ = select.select([0, listener, wake, *clients.values()], [], [])
        if 0 in ready:
            return 0
        if wake in ready:
            os.read(wake, 4096)
            reap(clients, forks)
        for pid, client in list(clients.items()):
            if client in ready:  # a client sends nothing after its request, so it has ended
                os.kill(pid, signal.SIGKILL)
                client.close()
                del clients[pid]
        if listener in ready:
            client, _ = listener.accept()
            try:
                packet, fds, _, _ = socket.recv_fds(client, REQUEST_BYTES, len(FDS))
            except OSError:
                packet, fds = b"", []  # the client was killed before its request
            if len(fds) != len(FDS):
                client.close()
                continue
            pid = os.fork()
            if pid == 0:
                become(json.loads(packet), fds, forks)
            for fd in fds:
                os.close(fd)
            clients[pid] = client


def reap(clients: dict[int, socket.socket], forks: Path) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        forget(pid, forks)
        client = clients.pop(pid, None)
        if client is not None:
            code = os.waitstatus_to_exitcode(status)
            with contextlib.suppress(OSError):  # the client may have been killed at the same time
                client.send(str(code if code >= 0 else 128 - code).encode())
            client.close()


def forget(fork: int, forks: Path) -> None:
    """Removes the link that names this fork."""
    for link in forks.iterdir():
        with contextlib.suppress(OSError):  # the process of the other device removed this link
            if link.readlink().name == str(fork):
                link.unlink()


def import_as_zygotes_do(stub_path: str, harness: Path) -> str:
    """Imports torch and splits into two processes; returns the device that the current process is for."""
    sys.path.insert(0, str(harness.parent))
    from harness.children.runtime import ChildRuntime
    from harness.zygote import imports
    from harness.zygote import main as zygote
    from harness.zygote.huge_pages import HugePages

    zygote.set_environment("cuda")
    gc.disable()
    huge_pages = HugePages(ChildRuntime(stub_path))
    import torch  # noqa: F401

    device = "cpu" if os.fork() == 0 else "cuda"
    zygote.set_environment(device)
    imports.import_everything("cpu")  # without what a zygote then does to triton
    from harness.extensions import tracing_child

    tracing_child.prepare()
    if device == "cuda":
        from triton.runtime.cache import triton_key

        triton_key()
    huge_pages.finish_imports()
    huge_pages.collapse()  # a zygote does this after its first children, but here every fork is a zygote
    gc.freeze()
    # A zygote imports its own harness, which may be in another folder, so the modules are dropped here.
    for name in [name for name in sys.modules if name.partition(".")[0] == "harness"]:
        del sys.modules[name]
    del sys.path[0]
    return device


def become(request: dict, fds: list[int], forks: Path) -> None:
    """The zygote, or the program, that was asked for; never returns."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    link = forks / str(request["asker"])
    link.unlink(missing_ok=True)  # an earlier process had the same number
    link.symlink_to(str(os.getpid()))
    # What was received lies above what it is to become.
    for number, fd in zip(FDS, fds):
        os.dup2(fd, number)
    os.closerange(len(FDS), FDS_MAX)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    code = 0
    try:
        execute(request["words"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def execute(words: list[str]) -> None:
    """Runs the program as Python would run its command line."""
    if words[0] == "-c":
        sys.path[0:1] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(":"))]
        sys.argv = ["-c", *words[2:]]
        try:
            exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
        finally:
            atexit._run_exitfuncs()
    else:
        sys.path[0] = str(Path(words[0]).resolve().parent)
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        sys.exit(serve(Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])))
    sys.exit(run(Path(sys.argv[2]), sys.argv[3:]))
