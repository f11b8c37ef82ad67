"""An interpreter that has torch imported already, for tests that start workers: each import takes two seconds of processor time.

    warm_python.py serve FOLDER STUB HARNESS      imports what a zygote does, and forks one for each who asks, until its standard input closes
    warm_python.py run FOLDER WORDS...            is that interpreter: `zygote.py --device cpu ...` becomes a fork, all else a fresh one

scripts/test starts the first and makes of the second a file that KQ_PYTHON names. What runs is the real zygote, from its first line on,
in a process that forked where another would have imported. Who asked lives as long as the fork does: it ends with the fork's exit code,
and the fork is killed when it dies.
"""

import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import time
from pathlib import Path

FDS = (0, 1, 2, 3)  # 3: the control process's socket
FDS_MAX = 1024  # that a process of the suite may have open
REQUEST_BYTES = 128 << 10
CONNECT_LIMIT_S = 20.0  # the server listens before it imports
SOCKET = "socket"


def run(folder: Path, words: list[str]) -> int:
    is_zygote = words and Path(words[0]).name == "zygote.py" and words[1:3] == ["--device", "cpu"]
    server = connect(folder) if is_zygote else None
    if server is None:
        os.execv(sys.executable, [sys.executable, *words])
    request = {"words": words, "environment": dict(os.environ), "directory": os.getcwd()}
    socket.send_fds(server, [json.dumps(request).encode()], FDS)
    os.closerange(3, server.fileno())  # the control process must see the fork's end
    os.closerange(server.fileno() + 1, FDS_MAX)
    return int(server.recv(16) or 1)


def connect(folder: Path) -> socket.socket | None:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end = time.monotonic() + CONNECT_LIMIT_S
    while folder.exists() and time.monotonic() < end:
        try:
            server.connect(str(folder / SOCKET))
            return server
        except OSError:
            time.sleep(0.02)
    return None


def serve(folder: Path, stub_path: str, harness: Path) -> int:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(folder / SOCKET))
    listener.listen(64)
    import_as_a_zygote_does(stub_path, harness)
    wake, tell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    asking: dict[int, socket.socket] = {}  # by the process number of the fork
    while True:
        ready, _, _ = select.select([0, listener, wake, *asking.values()], [], [])
        if 0 in ready:
            return 0
        if wake in ready:
            os.read(wake, 4096)
            reap(asking)
        for pid, who in list(asking.items()):
            if who in ready:  # it never says anything more: it is gone
                os.kill(pid, signal.SIGKILL)
                who.close()
                del asking[pid]
        if listener in ready:
            who, _ = listener.accept()
            packet, fds, _, _ = socket.recv_fds(who, REQUEST_BYTES, len(FDS))
            if len(fds) != len(FDS):
                who.close()
                continue
            pid = os.fork()
            if pid == 0:
                become(json.loads(packet), fds)
            for fd in fds:
                os.close(fd)
            asking[pid] = who


def reap(asking: dict[int, socket.socket]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        who = asking.pop(pid, None)
        if who is not None:
            code = os.waitstatus_to_exitcode(status)
            who.send(str(code if code >= 0 else 128 - code).encode())
            who.close()


def import_as_a_zygote_does(stub_path: str, harness: Path) -> None:
    sys.path.insert(0, str(harness.parent))
    from harness import forker, zygote
    from harness.huge_pages import HugePages
    from harness.stub import Stub

    zygote.set_environment("cpu")
    gc.disable()
    huge_pages = HugePages(Stub(stub_path))
    forker.import_everything("cpu")
    huge_pages.settle()
    huge_pages.collapse()  # not after the first children, as a zygote does: many zygotes come of this one
    gc.freeze()
    # A zygote reads its own harness, which may be another one.
    for name in [name for name in sys.modules if name.partition(".")[0] == "harness"]:
        del sys.modules[name]
    del sys.path[0]


def become(request: dict, fds: list[int]) -> None:
    """The zygote that was asked for; never returns."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    # What was received lies above what it is to become.
    for number, fd in zip(FDS, fds):
        os.dup2(fd, number)
    os.closerange(len(FDS), FDS_MAX)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    script = request["words"][0]
    sys.argv = request["words"]
    sys.path[0] = str(Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        sys.exit(serve(Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])))
    sys.exit(run(Path(sys.argv[2]), sys.argv[3:]))
