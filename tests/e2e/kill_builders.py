"""Kills real workers at random moments while they build: a worker that only builds, and a worker that runs jobs.

    kill_builders.py [--kills N] [--seed N]
    kill_builders.py --kills 1000 --at-once 16 --warm --limit-s 540     # sixteen rigs share the kills

A rig is a broker with two workers, and with its own store, caches and seed. Each job has its own module, whose only
function returns the job's number, so that a call of another job's module is a wrong answer. Both workers build, send,
receive, unpack and run artifacts all the time. After each kill the worker is started again immediately, on the cache
that it left. In the end every job must have passed, or have been abandoned because its attempts were killed, and both
caches and the store must be intact. After a hundred kills or more, some jobs must have run artifacts of the other
worker. The output says how many kills interrupted a lease or a build for another worker.

With --warm the workers' Python is a fork of a process that has imported torch, which otherwise takes most of a start.
The exit code is 1 if anything was wrong in any rig, and 3 if the time was up before all kills but nothing was wrong.
"""

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import kq
import warm

SKIPPED = 77  # the exit code that means "skipped" to ctest
WAITING = 8  # the least number of queued jobs, so that both workers always have work
LIFE_S = 3.0  # the longest time from a worker's start to its kill
CALM_S = 300
KILLS_TO_TELL = 100  # after so many kills, some artifacts must have been sent from one worker to the other
TIME_WAS_UP = 3


class Kills:
    """The number of kills that are left, shared by all rigs. It is 0 once the time is up or a rig has failed."""

    def __init__(self, count: int, limit_s: float | None) -> None:
        self.left, self.lock, self.have_failed = count, threading.Lock(), False
        self.end = None if limit_s is None else time.monotonic() + limit_s

    def take(self) -> bool:
        with self.lock:
            if self.left == 0 or (self.end is not None and time.monotonic() > self.end):
                return False
            self.left -= 1
            return True

    def stop(self) -> None:
        with self.lock:
            self.left, self.have_failed = 0, True


@dataclass
class Found:
    """The counts of one rig, or the sums of several rigs."""

    kills: Counter[str] = field(default_factory=Counter)  # by role
    verdicts: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Found") -> None:
        for mine, others in ((self.kills, other.kills), (self.verdicts, other.verdicts), (self.counts, other.counts)):
            mine.update(others)


class Rig:
    def __init__(self, folder: Path, seed: int, python: str) -> None:
        folder.mkdir()
        self.folder, self.seed, self.random = folder, seed, random.Random(seed)
        self.python = {"KQ_PYTHON": python} if python else {}
        self.url = f"ipc://{folder}/b"
        self.log = (folder / "log").open("ab")
        self.job_count = 0
        self.found = Found()

    def start(self, role: str) -> "kq.subprocess.Popen[bytes]":
        words = {"builder": ["--compile-for", "cpu"], "worker": ["--devices", "cpu"]}[role]
        return kq.start(
            "kq-worker",
            "--connect",
            self.url,
            "--state",
            self.folder / role,
            "--builds",
            "1",
            *words,
            stderr=self.log,
            **self.python,
        )

    def figures(self) -> dict[str, float]:
        done = kq.kq("ctl", "stats", "--json", KQ_BROKER=self.url)
        return {
            one["name"] + one["labels"].get("state", "") + one["labels"].get("ending", ""): one["value"]
            for one in kq.json.loads(done.stdout)["metrics"]
        }

    def unfinished(self) -> float:
        return sum(n for name, n in self.figures().items() if name.startswith("kq_queue_jobs"))

    def submit_some(self) -> None:
        """Submits jobs if few are queued, because a builder only builds queued jobs."""
        figures = self.figures()
        if figures["kq_queue_jobsqueued"] + figures["kq_queue_jobswaiting"] >= WAITING:
            return
        first, self.job_count = self.job_count, self.job_count + WAITING
        sources = {f"{n:06}": kq.small_module(n) for n in range(first, self.job_count)}
        jobs = kq.write_sweep(self.folder / str(first), sources)
        done = kq.kq("submit", jobs, "--run", "r", "--device", "cpu", KQ_BROKER=self.url)
        assert done.returncode == 0, done.stderr

    def run(self, kills: Kills) -> None:
        words = ["--bind", self.url, "--store", self.folder / "store", "--lease", "2s"]
        broker = kq.start("kq-broker", *words, stderr=self.log)
        workers = {}
        try:
            self.submit_some()
            for role in ("builder", "worker"):
                workers[role] = self.start(role)
            while kills.take():
                self.submit_some()
                time.sleep(self.random.uniform(0, LIFE_S))
                role = self.random.choice(sorted(workers))
                assert workers[role].poll() is None, f"the {role} has ended by itself, with {workers[role].returncode}"
                workers[role].send_signal(signal.SIGKILL)
                workers[role].wait(30)
                self.found.kills[role] += 1
                workers[role] = self.start(role)
            kq.wait_until(
                lambda: kills.have_failed or self.figures()["kq_queue_jobsqueued"] == 0, "the queue is empty", CALM_S
            )
            kq.wait_until(lambda: kills.have_failed or self.unfinished() == 0, "every job has ended", CALM_S)
            if kills.have_failed:
                return
            figures = self.figures()
            rows = kq.dump("r", "--broker", self.url)
        finally:
            for process in [*workers.values(), broker]:
                process.kill()
                process.wait(30)
        self.found.verdicts = Counter(row["verdict"] for row in rows)
        self.found.counts = Counter(
            jobs=len(rows),
            taken=int(figures["kq_builds_totaltaken"]),
            builds_cut=int(figures["kq_builds_totallapsed"]),
            leases_cut=sum(int(row["attempt"]) - 1 for row in rows),
            cached=sum(row["build_cached"] == "true" for row in rows),
        )
        assert len(rows) == self.job_count, f"{len(rows)} rows of {self.job_count} jobs"
        others = [row for row in rows if row["verdict"] not in ("passed", "abandoned")]
        assert not others, f"{self.found.verdicts}: {others[:2]}"
        self.check_disk()

    def check_disk(self) -> None:
        for role in ("builder", "worker"):
            if role == "builder" and not (self.folder / role / "build-cache").exists():
                continue  # the builder was killed before it built anything, and the worker then built the job itself
            done = kq.kq("ctl", "cache", "verify", "--state", self.folder / role)
            assert done.returncode == 0, f"cache of the {role}: {done.stdout}{done.stderr}"
        done = kq.kq("ctl", "verify", "--store", self.folder / "store")
        assert done.returncode == 0, done.stdout + done.stderr


def run_all(seed: int, at_once: int, kills: Kills, python: str, folder: Path) -> tuple[Found, list[str]]:
    """Runs the rigs; returns the sums of their counts, and their errors."""
    rigs = [Rig(folder / str(i), seed + i, python) for i in range(at_once)]
    found, wrong = Found(), []

    def run(rig: Rig) -> None:
        try:
            rig.run(kills)
        except Exception as failed:  # any error: the other rigs end normally, and the run has failed
            kills.stop()
            wrong.append(f"seed {rig.seed}, after {rig.found.kills.total()} kills: {type(failed).__name__}: {failed}")
            sys.stderr.write((rig.folder / "log").read_text(errors="replace")[-4000:])
        print(
            f"seed {rig.seed}: {rig.found.kills.total()} kills, {rig.found.counts['jobs']} jobs",
            file=sys.stderr,
            flush=True,
        )

    with ThreadPoolExecutor(max_workers=at_once) as pool:
        list(pool.map(run, rigs))
    for rig in rigs:
        found.add(rig.found)
    return found, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=3, help="number of kills (default 3)")
    parser.add_argument(
        "--seed",
        type=int,
        default=random.SystemRandom().randrange(1 << 32),
        help="the random seed of the first rig; each further rig has the next number (default: a random one)",
    )
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="rigs that share the kills (default 1)")
    parser.add_argument(
        "--warm", action="store_true", help="fork the workers' Python from a process that has imported torch"
    )
    parser.add_argument("--limit-s", type=float, metavar="S", help="stop killing after so many seconds")
    parser.add_argument(
        "--in-ci",
        action="store_true",
        help="do nothing unless KQ_KILLS is set, as in CI, because each build takes two seconds",
    )
    arguments = parser.parse_args()
    if arguments.in_ci and "KQ_KILLS" not in os.environ:
        print("skipped: KQ_KILLS is not set")
        return SKIPPED
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kq-kill.", dir="/tmp"))
        python = stack.enter_context(warm.python()) if arguments.warm else ""
        began = time.monotonic()
        found, wrong = run_all(
            arguments.seed, arguments.at_once, Kills(arguments.kills, arguments.limit_s), python, Path(folder)
        )
    kill_count, counts = found.kills.total(), found.counts
    if not wrong and kill_count >= KILLS_TO_TELL and counts["cached"] == 0:
        wrong.append("no job ran an artifact of another worker")
    kills = ", ".join(f"{n} of a {role}" for role, n in sorted(found.kills.items()))
    print(
        f"seed {arguments.seed}, {arguments.at_once} rigs: {kill_count} kill -9 ({kills}) "
        f"in {time.monotonic() - began:.0f} s"
    )
    print(
        f"the kills interrupted {counts['leases_cut']} leases of a worker and {counts['builds_cut']} builds "
        "of a builder"
    )
    print(
        f"{counts['jobs']} jobs: {dict(found.verdicts)}; {counts['taken']} artifacts were sent to the broker, "
        f"{counts['cached']} jobs ran an artifact that existed before"
    )
    if wrong:
        print("\n".join(["FAILED", *wrong]), file=sys.stderr)
        return 1
    print("no artifact was wrong, no program hung, and all caches and stores are intact")
    if kill_count < arguments.kills:
        print(f"PARTIAL: time was up after {kill_count} of {arguments.kills} kills")
        return TIME_WAS_UP
    return 0


if __name__ == "__main__":
    sys.exit(main())
