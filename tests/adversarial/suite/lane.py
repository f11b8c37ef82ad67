"""Runs rows on a device lane (lane_rows.cc) and finds the processes and files that a row leaves on the machine."""

import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rows import FOLDER

ROOT = FOLDER.parents[1]
BIN = Path(os.environ.get("KQ_BIN") or ROOT / "build/release/bin").resolve()
START_LIMIT_S = 200
ANSWER_LIMIT_S = 100  # the lane waits up to a minute for a child that does not end
# Folders in which a child could leave a file for a later child or another process.
SHARED = tuple(Path(folder) for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/dev/mqueue"))
MARK = "kq_marker"  # part of the name of every file that a row tries to leave

TRIALS = (2, 1, 3)


def python() -> str:
    """Returns the Python interpreter with torch: KQ_PYTHON, else the one that runs this program."""
    return os.environ.get("KQ_PYTHON") or sys.executable


@dataclass(frozen=True)
class Ending:
    """The outcome of one run of a row."""

    verdict: str  # verdict and reason, such as "wrong_answer value"
    message: str
    log: str
    median_ns: float
    sandbox: str


class Lane:
    """One lane that runs many rows. Its judge and its zygote must survive all of them."""

    opened = itertools.count(os.getpid() * 4)  # each lane has its own number, and so its own user ids for children

    def __init__(self, device: str = "cpu", pace: str = "patient") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kq-rows."))
        command = [str(BIN / "lane_rows"), python(), str(self.folder), device, pace, str(next(self.opened))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._unread = b""
        self.is_recording, self.processes_max = True, 0
        self.directories_max = 0
        self.started = self._receive(START_LIMIT_S)
        if "error" in self.started:
            raise AssertionError(f"the lane cannot start: {self.started['error']}")

    def run(self, entry: Path, problem: Path, backend: str = "torch") -> Ending:
        """Runs one submission; raises AssertionError if the lane fails or has another judge or zygote than before."""
        order = {"entry": str(entry), "problem": str(problem), "backend": backend, "trials": TRIALS}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        answer = self._receive(ANSWER_LIMIT_S)
        for name in ("judge", "zygote"):
            if answer[name] != self.started[name]:
                raise AssertionError(
                    f"{entry.name}: the {name} of the lane is not the same process as before: {answer}"
                )
        if "error" in answer:
            raise AssertionError(f"{entry.name}: the lane failed: {answer['error']}")
        verdict = f"{answer['verdict']} {answer['reason']}".strip()
        return Ending(verdict, answer["message"], answer["log"], answer["median_ns"], answer["sandbox"])

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(30)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def record_baseline(self, entry: Path, problem: Path) -> None:
        """Runs an honest job and counts processes and directories after it. No later row may leave more of them."""
        if self.run(entry, problem).verdict != "passed":
            raise AssertionError(f"{entry.name} did not pass")
        self.leftovers()
        self.is_recording = False

    def leftovers(self) -> list[str]:
        """Returns the processes and files that a lane must not have between two jobs."""
        return self._leftover_processes() + self._leftover_files()

    def _receive(self, limit_s: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        while b"\n" not in self._unread:
            if not select.select([self.process.stdout], [], [], limit_s)[0]:
                raise AssertionError(f"the lane did not answer within {limit_s:.0f} s")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                raise AssertionError(f"the lane ended with exit code {self.process.wait(30)}")
            self._unread += piece
        line, self._unread = self._unread.split(b"\n", 1)
        return json.loads(line)

    def _leftover_processes(self) -> list[str]:
        """Returns processes with a user id of the lane's children outside the lane's process tree, and processes below
        the judge and the zygote if there are more of them than after an honest job.
        """
        parents, owners, names = {}, {}, {}
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):
                name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                parents[int(entry.name)] = int(rest.split()[1])
                owners[int(entry.name)] = entry.stat().st_uid
                names[int(entry.name)] = name
        tree, edge = set(), {self.process.pid}
        while edge:
            edge = {pid for pid, parent in parents.items() if parent in edge} - tree
            tree |= edge
        kept = {pid for pid in tree if parents[pid] != self.process.pid}
        uids = set(self.started["uids"]) - {0}
        foreign = {pid for pid, uid in owners.items() if uid in uids} - tree
        found = [
            f"process {pid} ({names[pid]}) has a child's user id but is outside the lane's process tree"
            for pid in sorted(foreign)
        ]
        self.processes_max = max(self.processes_max, len(kept)) if self.is_recording else self.processes_max
        if len(kept) > self.processes_max:
            found.append(
                f"{len(kept)} processes below judge and zygote, at most {self.processes_max} expected: {sorted(kept)}"
            )
        return found

    def _leftover_files(self) -> list[str]:
        scratch = Path(self.started["scratch"])
        directories = sorted(path.name for path in scratch.iterdir()) if scratch.exists() else []
        self.directories_max = (
            max(self.directories_max, len(directories)) if self.is_recording else self.directories_max
        )
        found = []
        if len(directories) > self.directories_max:
            found.append(
                f"{scratch} has {len(directories)} directories of children, at most {self.directories_max} expected: "
                f"{directories}"
            )
        for folder in SHARED:
            with contextlib.suppress(OSError):
                found += [str(path) for path in folder.iterdir() if MARK in path.name]
        return found
