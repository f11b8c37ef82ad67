"""Kills the broker, workers, builders and submitters many times while jobs run, and then checks every job.

    kill_loop.py [--kills N] [--seed N] [--json FILE]

The broker, its store and kq-submit are the real programs. The workers speak the real protocol and invent their results
(light_worker.cc), so that a kill costs no more than a fraction of a second. Each kill hits one process, or the broker
and another process, at a random moment. A killed process is started again immediately, kq-submit with the same jobs.
From time to time a worker is stopped for longer than its leases last and then continued, so that its results are late.

The exit code is 0 only if all of these hold at the end:
- every acknowledged job exists under its acknowledged number and is finished;
- every job has one result, of the attempt that its record names;
- an artifact that came with a lease was built from the job of that lease;
- no two jobs are the same work, and no finished job has changed;
- kq-ctl verify finds no error, also in the store of a broker that was just killed, and it recomputes every leaderboard.
"""

import argparse
import csv
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import kq

JOBS_PER_SWEEP = 100
WORKERS = 2
BUILDERS = 1  # workers that only build
SUBMITTERS = 2
MEAN_PAUSE_S = 0.1  # the mean pause between two sweeps of a submitter
CHECKS = 4  # how many times between kills the store of a killed broker is verified and its finished rows are recorded
LEASE_S = 2
FREEZE_CHANCE = 0.2  # the probability, at each kill, that a worker is stopped for a while
# The limit of the wait for the last jobs after all kills, and the part of it that each kill adds: submitters go on
# while workers are dead, so that a thousand kills leave 90,000 queued jobs.
FINAL_WAIT_S = 120
FINAL_WAIT_PER_KILL_S = 0.5


class Failure(Exception):
    pass


def expect(condition: object, what: str) -> None:
    if not condition:
        raise Failure(what)


@dataclass(frozen=True)
class Row:
    """The part of a row that is compared; it is small, because there are many rows."""

    number: int
    attempt: int
    state: str
    verdict: str
    worker: str
    cached: bool  # whether the lease came with an artifact of another worker
    all: bytes  # a hash of all columns


def rows_of(store: Path, run: str) -> dict[str, Row]:
    command = [str(kq.BIN / "kq-dump"), "--run", run, "--store", str(store)]
    rows = {}
    with subprocess.Popen(
        command, env=kq.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as dump:
        for row in csv.DictReader(dump.stdout):
            digest = hashlib.blake2b("\0".join(row.values()).encode(), digest_size=16).digest()
            rows[row["label"]] = Row(
                int(row["job_id"]),
                int(row["attempt"]),
                row["state"],
                row["verdict"],
                row["worker"],
                row["build_cached"] == "true",
                digest,
            )
        said = dump.stderr.read()
    expect(dump.returncode in (0, 5), f"kq-dump ended with {dump.returncode}: {said}")  # 5: the run has no rows yet
    return rows


def link_or_copy(source: str, copy: str) -> None:
    """Links RocksDB's table and blob files, which never change once written, and copies all other files."""
    (os.link if source.endswith((".sst", ".blob")) else shutil.copyfile)(source, copy)


class Submitter:
    """Submits sweeps, folders of jobs, one after another. Each call of kq-submit that is killed is repeated, until the
    sweep is acknowledged. All jobs are different.
    """

    def __init__(self, loop: "Loop", name: str) -> None:
        self.loop, self.name = loop, name
        self.sweep_count = 0
        self.numbers: dict[str, int] = {}  # the numbers of acknowledged jobs by label
        self.process: subprocess.Popen[str] | None = None
        self.labels: list[str] = []
        self.again = False  # whether the current sweep was acknowledged before
        self.next_sweep_at = 0.0

    def begin_sweep(self) -> None:
        self.labels = [f"{self.name}/{self.sweep_count:05}/{i:03}" for i in range(JOBS_PER_SWEEP)]
        sources = {label: f"# {label}\n{kq.RIGHT}" for label in self.labels}
        self.folder = kq.write_sweep(self.loop.folder / self.name / str(self.sweep_count), sources)
        self.sweep_count += 1
        self.again = False
        self.submit()

    def submit(self) -> None:
        command = [
            str(kq.BIN / "kq-submit"),
            str(self.folder),
            "--run",
            self.name,
            "--broker",
            self.loop.url,
            "--timeout",
            "60",
        ]
        self.process = subprocess.Popen(
            command,
            env=kq.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def advance(self, more: bool) -> None:
        """If kq-submit has ended, handles its outcome; starts the next sweep if `more` sweeps are wanted."""
        if self.process is None:
            if more and time.monotonic() >= self.next_sweep_at:
                self.begin_sweep()
            return
        if self.process.poll() is None:
            return
        out, err = self.process.communicate()
        if self.process.returncode == -signal.SIGKILL:
            return self.submit()
        expect(self.process.returncode == 0, f"kq-submit ended with {self.process.returncode}: {err}")
        numbers = dict(zip(self.labels, map(int, out.split()), strict=True))
        if self.again:
            expect(
                all(self.numbers[label] == n for label, n in numbers.items()),
                f"{self.name}: a job has another number than before",
            )
        self.numbers |= numbers
        self.process = None
        self.next_sweep_at = time.monotonic() + self.loop.random.uniform(0, 2 * MEAN_PAUSE_S)
        # Every tenth sweep is submitted once more, which must change nothing.
        if self.sweep_count % 10 == 0 and not self.again:
            self.again = True
            self.submit()


class Loop:
    def __init__(self, folder: Path, kill_count: int, seed: int) -> None:
        self.folder, self.kill_count = folder, kill_count
        self.random = random.Random(seed)
        self.url = f"ipc://{folder}/b"
        self.store = folder / "store"
        self.log = (folder / "log").open("ab")
        self.killed: Counter[str] = Counter()
        self.start_ms: list[float] = []  # how long the broker took to start after each kill
        self.worker_count = 0
        self.freeze_count = 0
        self.frozen: dict[
            int, tuple[subprocess.Popen[bytes], float]
        ] = {}  # stopped workers and when they continue, by pid
        self.broker: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self.builders: list[subprocess.Popen[bytes]] = []
        self.submitters = [Submitter(self, f"s{i}") for i in range(SUBMITTERS)]
        self.seen: dict[str, Row] = {}  # finished jobs by label

    # ---- processes

    def start_broker(self) -> None:
        began = time.monotonic()
        self.broker = kq.start(
            "kq-broker", "--bind", self.url, "--store", self.store, "--lease", f"{LEASE_S}s", stderr=self.log
        )
        self.start_ms.append((time.monotonic() - began) * 1e3)

    def start_worker(self, *words: str) -> subprocess.Popen[bytes]:
        self.worker_count += 1
        command = [str(kq.BIN / "light_worker"), self.url, f"w{self.worker_count}", *words]
        return subprocess.Popen(command, env=kq.environment(), stdin=subprocess.DEVNULL, stderr=self.log)

    def kill(self, process: subprocess.Popen, what: str) -> None:
        expect(process.poll() is None, f"the {what} has ended by itself, with {process.returncode}")
        process.kill()
        process.wait(30)
        self.killed[what] += 1

    def kill_worker(self) -> None:
        awake = [place for place, worker in enumerate(self.workers) if worker.pid not in self.frozen]
        if not awake:
            return  # a stopped worker must live, so that it reports late
        place = self.random.choice(awake)
        self.kill(self.workers[place], "worker")
        self.workers[place] = self.start_worker()

    def kill_builder(self) -> None:
        place = self.random.randrange(BUILDERS)
        self.kill(self.builders[place], "builder")
        self.builders[place] = self.start_worker("builds")

    def kill_submitter(self) -> bool:
        running = [one for one in self.submitters if one.process is not None and one.process.poll() is None]
        if running:
            process = self.random.choice(running).process
            process.kill()
            if process.wait(30) == -signal.SIGKILL:
                self.killed["submitter"] += 1
                return True
        return False

    def kill_broker(self) -> None:
        self.kill(self.broker, "broker")

    def kill_one(self) -> None:
        """Kills one process at random, or the broker and a worker at the same time."""
        chance = self.random.random()
        if chance < 0.45:
            self.kill_broker()
            if chance < 0.1:
                self.kill_worker()
            self.start_broker()
        elif chance < 0.55:
            self.kill_builder()
        elif chance < 0.75 or not self.kill_submitter():
            self.kill_worker()

    def freeze(self) -> None:
        worker = self.random.choice(self.workers)
        if not self.frozen:  # at most one worker is stopped, so that the other goes on
            worker.send_signal(signal.SIGSTOP)
            self.frozen[worker.pid] = (worker, time.monotonic() + LEASE_S + self.random.uniform(0.2, 2))
            self.freeze_count += 1

    def thaw(self, all_of_them: bool = False) -> None:
        for pid, (worker, until) in list(self.frozen.items()):
            if all_of_them or time.monotonic() >= until:
                worker.send_signal(signal.SIGCONT)
                del self.frozen[pid]

    def close(self) -> None:
        processes = [self.broker, *self.workers, *self.builders, *(one.process for one in self.submitters)]
        for process in processes:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait(30)
        self.log.close()

    # ---- the course of the test

    def run(self) -> dict[str, object]:
        began = time.monotonic()
        self.start_broker()
        self.workers = [self.start_worker() for _ in range(WORKERS)]
        self.builders = [self.start_worker("builds") for _ in range(BUILDERS)]
        checks = {self.kill_count * (i + 1) // (CHECKS + 1) for i in range(CHECKS)}
        while self.killed.total() < self.kill_count:
            self.go_on_for(self.random.uniform(0.02, 0.3))
            before = self.killed.total()
            self.kill_one()
            if self.random.random() < FREEZE_CHANCE:
                self.freeze()
            if any(before < check <= self.killed.total() for check in checks):
                self.check_store()
        kills_s = time.monotonic() - began
        self.wait_for_all_jobs()
        counts = self.count()
        return {
            "kills": dict(self.killed),
            "freezes": self.freeze_count,
            "kills_s": round(kills_s, 1),
            "broker_start_ms": {
                "median": round(sorted(self.start_ms)[len(self.start_ms) // 2], 1),
                "max": round(max(self.start_ms), 1),
            },
            **counts,
        }

    def go_on_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while True:
            self.thaw()
            for submitter in self.submitters:
                submitter.advance(more=True)
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, 0.01))

    def check_store(self) -> None:
        """Kills the broker, verifies its store and compares the finished rows with those recorded before.

        The check reads a copy of the store, so that the broker is started again soon.
        """
        self.kill_broker()
        copy = self.folder / "copy"
        shutil.copytree(self.store, copy, copy_function=link_or_copy)
        self.start_broker()
        self.verify(copy)
        for label, row in self.rows(copy).items():
            if row.state == "finished":
                known = self.seen.setdefault(label, row)
                expect(known == row, f"finished job {row.number} has changed from {known} to {row}")
        shutil.rmtree(copy)

    def rows(self, store: Path) -> dict[str, Row]:
        return {label: row for one in self.submitters for label, row in rows_of(store, one.name).items()}

    def verify(self, store: Path) -> dict[str, int]:
        done = kq.kq("ctl", "verify", "--store", store, "--json")
        expect(done.returncode == 0, f"kq-ctl verify: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def unfinished_count(self) -> int:
        done = kq.kq("ctl", "stats", "--json", KQ_BROKER=self.url)
        expect(done.returncode == 0, f"kq-ctl stats: {done.stderr}")
        return sum(one["value"] for one in json.loads(done.stdout)["metrics"] if one["name"] == "kq_queue_jobs")

    def wait_for_all_jobs(self) -> None:
        """Waits, without further kills, until every sweep is acknowledged and every acknowledged job is finished."""
        self.thaw(all_of_them=True)

        def all_acknowledged() -> bool:
            for submitter in self.submitters:
                submitter.advance(more=False)
            return all(submitter.process is None for submitter in self.submitters)

        kq.wait_until(all_acknowledged, "every sweep is acknowledged", FINAL_WAIT_S)
        kq.wait_until(
            lambda: self.unfinished_count() == 0,
            "every job is finished",
            FINAL_WAIT_S + FINAL_WAIT_PER_KILL_S * self.kill_count,
        )
        self.broker.terminate()
        expect(self.broker.wait(30) == 0, "kq-broker ended with another code than 0")

    def count(self) -> dict[str, object]:
        acknowledged = {label: n for one in self.submitters for label, n in one.numbers.items()}
        rows = self.rows(self.store)
        lost = sorted(acknowledged.keys() - rows.keys())
        expect(not lost, f"{len(lost)} acknowledged jobs are lost, {lost[:3]}")
        expect(len(rows) == len(acknowledged), "there are jobs that were never acknowledged")
        verdicts: Counter[str] = Counter()
        for label, row in rows.items():
            self.check_row(label, row, acknowledged[label])
            verdicts[row.verdict] += 1
        for label, row in self.seen.items():
            expect(rows[label] == row, f"job {row.number} was finished, and has changed: {row} is {rows[label]}")
        found = self.verify(self.store)
        expect(
            found["finished"] == len(acknowledged), f"{found['finished']} finished jobs instead of {len(acknowledged)}"
        )
        expect(found["results"] == len(acknowledged), f"{found['results']} results for {len(acknowledged)} jobs")
        built_count = sum(row.cached for row in rows.values())
        return {
            "jobs": len(rows),
            "built_elsewhere": built_count,
            "verdicts": dict(verdicts),
            "attempts": sum(row.attempt for row in rows.values()),
        }

    def check_row(self, label: str, row: Row, number: int) -> None:
        expect(row.number == number, f"{label} was acknowledged as job {number} and is job {row.number}")
        expect(row.state == "finished", f"job {number} is {row.state}")
        # Each killed worker uses up an attempt of its jobs, so a job may be abandoned.
        if row.verdict == "abandoned":
            return
        wanted = "wrong_answer" if label.endswith("9") else "passed"
        expect(row.verdict == wanted, f"job {number} is {row.verdict} instead of {wanted}")
        tag = f"{number}/{row.attempt}"
        expect(row.worker.split()[1:] == [tag], f"job {number}, attempt {row.attempt}, has the result of {row.worker}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--kills",
        type=int,
        default=int(os.environ.get("KQ_KILLS") or 5),
        help="number of kills (default: KQ_KILLS, or 5)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=None,
        help="the seed of the random choices; the exact moments of the kills differ between runs",
    )
    parser.add_argument("--json", metavar="FILE", help="also write the figures to this file")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 32)
    with tempfile.TemporaryDirectory(prefix="kq-kill.", dir="/tmp") as folder:
        loop = Loop(Path(folder), arguments.kills, seed)
        try:
            figures = {"seed": seed, **loop.run()}
        except (Failure, AssertionError) as failed:
            print(f"after {loop.killed.total()} kills, seed {seed}: {failed}", file=sys.stderr)
            sys.stderr.write((Path(folder) / "log").read_text(errors="replace")[-4000:])
            return 1
        finally:
            loop.close()
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(figures, indent=2) + "\n")
    kills = ", ".join(f"{n} of a {what}" for what, n in sorted(figures["kills"].items()))
    start = figures["broker_start_ms"]
    print(
        f"seed {seed}: {sum(figures['kills'].values())} kill -9 ({kills}) in {figures['kills_s']} s; "
        f"a worker was stopped {figures['freezes']} times"
    )
    print(f"the broker started again in {start['median']} ms (median), {start['max']} ms (longest)")
    print(
        f"{figures['jobs']} jobs acknowledged, {figures['attempts']} attempts; {figures['verdicts']}; "
        f"{figures['built_elsewhere']} jobs came with an artifact of a builder, each with its own"
    )
    print("0 jobs lost, 0 doubled, 0 changed after their end, 0 of another attempt; kq-ctl verify finds no error")
    return 0


if __name__ == "__main__":
    sys.exit(main())
