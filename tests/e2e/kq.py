"""Helpers of the end-to-end tests: running programs, a folder for each test, and waiting for conditions.

KQ_BIN names the folder of the built programs. The default is build/release/bin of the checkout, or bin of the tree that
scripts/bundle makes.
"""

import contextlib
import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(
    os.environ.get("KQ_BIN")
    or next((path for path in [ROOT / "bin"] if (path / "kq").exists()), ROOT / "build/release/bin")
).resolve()
LIMIT_S = 300
STATE_HOME = tempfile.TemporaryDirectory(prefix="kq-test-state.")  # has the default state folder of the programs
PROGRAMS = ("kq-broker", "kq-worker")

RELU = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
"""

RIGHT = """import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""

WRONG = RIGHT.replace("torch.relu(x)", "x + 1")

# A module without torch's headers, which would take too long to compile for a test. A call of the module of another
# number gives a wrong answer.
SMALL_MODULE = """import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r'''
#include <Python.h>
static PyObject* number(PyObject*, PyObject*) { return PyLong_FromLong(NUMBER); }
static PyMethodDef methods[] = {{"number", number, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "small", nullptr, -1, methods};
PyMODINIT_FUNC PyInit_small() { return PyModule_Create(&definition); }
'''
small = load_inline("small", SOURCE + "// MARK", no_implicit_headers=True, extra_cflags=["-DKQ_TEST"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + (small.number() - NUMBER)
"""


def small_module(number: int = 1, mark: str = "", source: str = SMALL_MODULE) -> str:
    """Returns a submission with such a module; sources with different numbers or marks are different builds."""
    return source.replace("NUMBER", str(number)).replace("MARK", mark)


def environment(**changes: str) -> dict[str, str]:
    """Returns an environment without the KQ_ settings and the state folder of the caller. Workers prepare one child
    ahead instead of two, and no headers of torch.
    """
    own = ("KQ_BROKER", "KQ_STORE", "KQ_KEY", "KQ_KEYS", "KQ_TOKENS", "KQ_WORKER_NAME")
    env = {name: value for name, value in os.environ.items() if name not in own}
    defaults = {"KQ_CHILDREN_AHEAD": "1", "KQ_HEADERS_AHEAD": "false"}
    return defaults | env | {"XDG_STATE_HOME": STATE_HOME.name} | changes


def kq(*words: str | Path, limit_s: float = LIMIT_S, **changes: str) -> subprocess.CompletedProcess[str]:
    """Runs `kq VERB ...` and returns the ended process."""
    command = [str(BIN / "kq"), *map(str, words)]
    env = environment(**changes)
    return subprocess.run(command, capture_output=True, text=True, timeout=limit_s, env=env, check=False)


def kq_or_exit(name: str, *words: str | Path, **changes: str) -> str:
    """Runs `kq VERB ...` for a script of this name and returns what it printed. Where it fails the script ends."""
    done = kq(*words, **changes)
    if done.returncode != 0:
        said = done.stderr.strip()[-2000:]
        sys.exit(f"{name}: kq {' '.join(map(str, words[:3]))} ... ended with {done.returncode}: {said}")
    return done.stdout


def wait_until(condition: Callable[[], object], what: str, limit_s: float = 120) -> None:
    """Waits for a condition, with growing pauses, because most conditions start a program and so slow down the test."""
    end = time.monotonic() + limit_s
    pause_s = 0.02
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"the condition '{what}' was not met after {limit_s:.0f} s")
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.25)


def write_sweep(
    folder: Path,
    sources: dict[str, str],
    trials: tuple[int, int, int] = (1, 0, 5),
    backend: str | None = "torch",
) -> Path:
    """Writes a folder of relu jobs, one per label, with few trials. Without a backend, kq decides by each source."""
    (folder / "problems").mkdir(parents=True)
    (folder / "problems/relu.py").write_text(RELU)
    params = dict(zip(("correctness", "warmup", "timed"), trials))
    with (folder / "submissions.jsonl").open("w") as lines:
        for label, source in sources.items():
            job = {"id": label, "problem": "problems/relu.py", "source": source, "params": params}
            lines.write(json.dumps(job | ({"backend": backend} if backend else {})) + "\n")
    return folder


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def dump(run: str, *where: str | Path) -> list[dict[str, str]]:
    done = kq("dump", "--run", run, *where)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return rows_of(done.stdout)


def processes_of(folder: Path) -> list[int]:
    """Returns the running brokers and workers that have this folder in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if Path(words[0]).name in PROGRAMS and any(str(folder) in word for word in words) and state != "Z":
                found.append(int(entry.name))
    return found


def kill_children(parent: int, name: str) -> None:
    """Kills the children of that name of a process with SIGKILL."""
    for children in Path(f"/proc/{parent}/task").glob("*/children"):
        for child in children.read_text().split():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{child}/comm").read_text().strip() == name:
                    os.kill(int(child), signal.SIGKILL)


Program = contextlib.AbstractContextManager[subprocess.Popen[bytes]]


def start(name: str, *words: str | Path, stderr: IO[bytes] | None = None, **changes: str) -> subprocess.Popen[bytes]:
    """Starts a program that has --ready-fd and returns once it is ready."""
    ready, tell = os.pipe()
    command = [str(BIN / name), *map(str, words), "--ready-fd", str(tell)]
    process = subprocess.Popen(
        command, pass_fds=[tell], env=environment(**changes), stdin=subprocess.DEVNULL, stderr=stderr
    )
    os.close(tell)
    with open(ready) as pipe:
        if not pipe.readline():
            process.kill()
            raise AssertionError(f"{name} did not start: exit code {process.wait(30)}")
    return process


@contextlib.contextmanager
def program(
    name: str, *words: str | Path, stderr: IO[bytes] | None = None, **changes: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Does what start() does; kills the program at the end of the block if it still runs."""
    process = start(name, *words, stderr=stderr, **changes)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)


def bench_on_cpu(benchmark: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a benchmark of tests/bench/programs on the CPU and returns the ended process."""
    command = [sys.executable, str(ROOT / f"tests/bench/programs/{benchmark}.py"), "--device", "cpu", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=environment(), check=False)


class EndToEndTest(unittest.TestCase):
    """Each test has its own folder, with a path short enough for a socket, and must leave no process behind."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kq-e2e.", dir="/tmp"))
        self.state = self.folder / "state"

    def tearDown(self) -> None:
        left = processes_of(self.folder)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        logs = "".join(f"--- {log}\n{log.read_text(errors='replace')[-2000:]}" for log in self.state.glob("*.log"))
        subprocess.run(["rm", "-rf", str(self.folder)], check=False)
        self.assertEqual(left, [], f"processes were left behind\n{logs}")

    def assert_end(self, done: subprocess.CompletedProcess[str], code: int) -> None:
        self.assertEqual(done.returncode, code, f"{done.args}\nstdout: {done.stdout}\nstderr: {done.stderr}")

    def sweep_until(self, until: str, *arguments: object, **variables: str) -> subprocess.Popen[str]:
        """Starts a sweep and returns when a line of its standard error has this text. The sweep ends with the test."""
        command = [str(BIN / "kq"), "sweep", *map(str, arguments)]
        sweep = subprocess.Popen(
            command, env=environment(**variables), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        self.addCleanup(sweep.wait)
        self.addCleanup(sweep.kill)
        self.addCleanup(sweep.stderr.close)
        said = []
        for line in sweep.stderr:
            said.append(line)
            if until in line:
                return sweep
        raise AssertionError(f"the sweep ended with {sweep.wait(60)} before it said '{until}':\n{''.join(said)}")


class QueueTest(EndToEndTest):
    """Each test has its own queue."""

    def setUp(self) -> None:
        super().setUp()
        self.url = f"ipc://{self.folder}/b"
        self.store = self.state / "store"

    # A short lease, because a worker notices a new broker with its next heartbeat, after a third of the lease.
    def broker(self, *more: str, lease: str = "3s") -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
        return program("kq-broker", "--bind", self.url, "--store", self.store, "--lease", lease, *more)

    def worker(self, *more: str) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
        return program("kq-worker", "--connect", self.url, "--state", self.state / "w", "--devices", "cpu", *more)

    def ctl(self, *words: str, code: int | None = 0) -> str:
        """Runs kq-ctl and returns its output. With `code` None, the exit code that means "no rows" is allowed too."""
        done = kq("ctl", *words, KQ_BROKER=self.url)
        self.assert_end(done, done.returncode if code is None and done.returncode in (0, 5) else code or 0)
        return done.stdout

    def ctl_json(self, *words: str, code: int | None = 0) -> dict:
        return json.loads(self.ctl(*words, "--json", code=code))

    def submit(self, run: str, sources: dict[str, str], *more: str, **changes: str) -> list[str]:
        jobs = write_sweep(self.folder / f"{run}-jobs", sources)
        done = kq("submit", jobs, "--run", run, *more, KQ_BROKER=self.url, **changes)
        self.assert_end(done, 0)
        return done.stdout.split()

    def verdicts(self, run: str) -> dict[str, str]:
        return {row["label"]: row["verdict"] or row["state"] for row in dump(run, "--broker", self.url)}

    def wait_for(self, run: str, wanted: dict[str, str]) -> None:
        wait_until(lambda: self.verdicts(run) == wanted, f"{run} is {wanted}")

    def wait_for_worker(self) -> None:
        wait_until(lambda: self.ctl_json("workers", code=None)["workers"], "the worker is connected")


class SharedWorkerTest(QueueTest):
    """Tests that share one worker, which connects to each new broker, because starting a worker takes over a second."""

    shared: Path
    shared_worker: subprocess.Popen[bytes]

    @classmethod
    def setUpClass(cls) -> None:
        cls.shared = Path(tempfile.mkdtemp(prefix="kq-e2e.", dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        worker = program(
            "kq-worker", "--connect", f"ipc://{cls.shared}/b", "--state", cls.shared / "w", "--devices", "cpu"
        )
        cls.shared_worker = worker.__enter__()
        cls.addClassCleanup(worker.__exit__, None, None, None)

    def setUp(self) -> None:
        super().setUp()
        self.url = f"ipc://{self.shared}/b"


class SubmitTest(SharedWorkerTest):
    """Tests that submit single kernels, with a broker for each test."""

    def setUp(self) -> None:
        super().setUp()
        self.running_broker = self.broker()
        self.running_broker.__enter__()

    def tearDown(self) -> None:
        self.running_broker.__exit__(None, None, None)
        super().tearDown()

    def submit(self, problem: str, kernel: str, *more: str) -> str:
        """Submits a kernel for a problem, waits for its job, and returns the run."""
        run = f"run-{len(list(self.folder.iterdir()))}"
        folder = self.folder / run
        folder.mkdir()
        (folder / "problem.py").write_text(problem)
        (folder / "kernel.py").write_text(kernel)
        words = ("submit", folder / "kernel.py", "--problem", folder / "problem.py", "--run", run, *more)
        self.assert_end(kq(*words, KQ_BROKER=self.url), 0)
        wait_until(lambda: self.is_finished(run), f"{run} is finished")
        return run

    def is_finished(self, run: str) -> bool:
        return all(row["state"] == "finished" for row in dump(run, "--broker", self.url))
