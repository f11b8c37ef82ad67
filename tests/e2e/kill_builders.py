"""kill -9 at random instants for real workers while they build: one that only builds, and one that runs what it is
given.

    kill_builders.py [--kills N] [--seed N]
    kill_builders.py --kills 1000 --at-once 16 --warm --limit-s 540     # sixteen rigs share the kills

A rig is a broker and its two workers, with a store, two caches and a seed of its own. Each job has a module of its own,
whose one function gives the job's number; a call with any other job's module is a wrong answer. Both workers build,
hand over, adopt, unpack and run all the time, and are started again at once after each kill, on the caches that were
left. In the end every job must have passed, or have been abandoned because its attempts were killed; of a hundred kills
and more some must have run what was built elsewhere; both caches and the store are whole. How many kills cut a lease or
a build for others short is told.

With --warm the workers' Pythons are forks of one that has imported torch, which takes most of a start otherwise; all
else is as it is. Exit code 1: something was wrong, in any rig; 3: time was up before so many kills, and all was well
until then.
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

    def __init__(self, n: int, limit_s: float | None) -> None:
        self.left_n, self.lock, self.have_failed = n, threading.Lock(), False
        self.end = None if limit_s is None else time.monotonic() + limit_s

    def take(self) -> bool:
        with self.lock:
            if self.left_n == 0 or (self.end is not None and time.monotonic() > self.end):
                return False
            self.left_n -= 1
            return True

    def stop(self) -> None:
        with self.lock:
            self.left_n, self.have_failed = 0, True


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
        self.jobs_n = 0
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
        first, self.jobs_n = self.jobs_n, self.jobs_n + WAITING
        sources = {f"{n:06}": kq.small_module(n) for n in range(first, self.jobs_n)}
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
        assert len(rows) == self.jobs_n, f"{len(rows)} rows of {self.jobs_n} jobs"
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
        help="of what chance decides, of the first rig; of the next the next",
    )
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="rigs that share the kills (default 1)")
    parser.add_argument(
        "--warm", action="store_true", help="fork the workers' Python from a process that has imported torch"
    )
    parser.add_argument("--limit-s", type=float, metavar="S", help="stop killing after so many seconds")
    parser.add_argument(
        "--in-ci",
        action="store_true",
        help="only where KQ_KILLS is set, as CI does: each job takes two seconds to build",
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
    kills_n, counts = found.kills.total(), found.counts
    if not wrong and kills_n >= KILLS_TO_TELL and counts["cached"] == 0:
        wrong.append("no job ran an artifact of another worker")
    kills = ", ".join(f"{n} of a {role}" for role, n in sorted(found.kills.items()))
    print(
        f"seed {arguments.seed}, {arguments.at_once} rigs: {kills_n} kill -9 ({kills}) "
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
    if kills_n < arguments.kills:
        print(f"PARTIAL: time was up after {kills_n} of {arguments.kills} kills")
        return TIME_WAS_UP
    return 0


if __name__ == "__main__":
    sys.exit(main())
