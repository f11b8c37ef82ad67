"""Kills the serving one of two brokers many times while jobs run, and then checks every job.

    kill_brokers.py [--kills N] [--seed N] [--gap-s S]

Both brokers share a lease file and follow each other with `--replicas 1`, so that a reply waits until the standby has
its commit on disk. Each kill hits the broker that serves, at a random moment; now and then the standby, or the serving
broker is stopped for longer than its lease lasts and then continued, after which it must end by itself. A broker that
has ended is started again. Submitters and workers name both brokers; the workers invent their results
(light_worker.cc).

The exit code is 0 only if the conditions of kill_loop.py hold at the end in the store of the broker that served last:
no acknowledged job is lost, none is doubled and no finished job has changed; and if submitters waited at most S seconds
for an acknowledgement.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import kill_loop
import kq
from kill_loop import Failure, Loop, expect

TAKEOVER_S = 1
RESTART_S = 0.5  # the longest pause before a broker that has ended is started again
FREEZE_CHANCE = 0.1
STANDBY_CHANCE = 0.1
SYNC_WAIT_S = 60


class Probe(threading.Thread):
    """Submits single jobs one after another, and measures how long each waits for its acknowledgement."""

    def __init__(self, loop: "Failover") -> None:
        super().__init__(daemon=True)
        self.loop = loop
        self.numbers: dict[str, int] = {}
        self.waits_s: list[float] = []
        self.failure: str | None = None
        self.is_over = threading.Event()

    def run(self) -> None:
        count = 0
        while not self.is_over.is_set():
            label = f"probe/{count:05}"
            jobs = kq.write_sweep(self.loop.folder / "probe" / str(count), {label: f"# {label}\n{kq.RIGHT}"})
            begun = time.monotonic()
            done = kq.kq("submit", jobs, "--run", "probe", "--timeout", "60", KQ_BROKER=self.loop.url)
            if done.returncode != 0:
                self.failure = f"kq-submit ended with {done.returncode}: {done.stderr}"
                return
            self.waits_s.append(time.monotonic() - begun)
            self.numbers[label] = int(done.stdout)
            count += 1


class Failover(Loop):
    def __init__(self, folder: Path, kill_count: int, seed: int) -> None:
        super().__init__(folder, kill_count, seed)
        self.addresses = {name: f"ipc://{folder}/{name}.sock" for name in "ab"}
        self.url = ",".join(self.addresses.values())
        self.lease = folder / "lease"
        self.brokers: dict[str, subprocess.Popen[bytes]] = {}
        self.restarts: dict[str, float] = {}  # when an ended broker is started again
        self.takeovers_s: list[float] = []
        self.fenced_count = 0
        self.probe = Probe(self)

    # ---- brokers

    def start(self, name: str) -> None:
        other = next(one for one in self.addresses if one != name)
        words = ["--bind", self.addresses[name], "--follow", self.addresses[other], "--store", self.folder / name]
        words += ["--lease-file", self.lease, "--takeover-after", f"{TAKEOVER_S}s", "--replicas", "1"]
        words += ["--lease", f"{kill_loop.LEASE_S}s"]
        command = [str(kq.BIN / "kq-broker"), *map(str, words)]
        self.brokers[name] = subprocess.Popen(command, env=kq.environment(), stdin=subprocess.DEVNULL, stderr=self.log)

    def record(self) -> dict[str, str]:
        """The content of the lease file."""
        try:
            lines = self.lease.read_text().splitlines()[1:]
        except FileNotFoundError:
            return {}
        return dict(line.split(" ", 1) for line in lines)

    def serving(self) -> str | None:
        holder = self.record().get("holder", "")
        return next((name for name in self.addresses if holder.endswith(f":{self.folder / name}")), None)

    def is_in_sync(self) -> bool:
        """Whether the broker that does not hold the lease may take over."""
        serving = self.serving()
        return serving is not None and any(
            self.record().get("standby", "").endswith(f":{self.folder / name}")
            for name in self.addresses
            if name != serving
        )

    def revive(self) -> None:
        """Starts brokers that have ended, each after its pause."""
        for name, process in self.brokers.items():
            if process.poll() is not None and name not in self.restarts:
                # 3: it lost its lease, or was not fast enough to take it
                expect(process.returncode in (3, -signal.SIGKILL), f"broker {name} ended with {process.returncode}")
                self.restarts[name] = time.monotonic() + self.random.uniform(0, RESTART_S)
            if name in self.restarts and time.monotonic() >= self.restarts[name]:
                del self.restarts[name]
                self.start(name)

    # ---- the course of the test

    def go_on_until(self, condition, what: str, limit_s: float = SYNC_WAIT_S) -> None:
        end = time.monotonic() + limit_s
        while not condition():
            expect(time.monotonic() < end, f"the condition '{what}' was not met after {limit_s:.0f} s")
            expect(self.probe.failure is None, str(self.probe.failure))
            self.revive()
            for submitter in self.submitters:
                submitter.advance(more=True)
            time.sleep(0.01)

    def pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.go_on_until(lambda: time.monotonic() >= end, "the pause is over")

    def fail_over(self) -> None:
        name, epoch = self.serving(), self.record()["epoch"]
        chance = self.random.random()
        if chance < STANDBY_CHANCE:
            standby = next(one for one in self.addresses if one != name)
            self.kill(self.brokers[standby], "standby")
            self.pause(0.1)
            return
        begun = time.monotonic()
        if chance < STANDBY_CHANCE + FREEZE_CHANCE:
            process = self.brokers[name]
            process.send_signal(signal.SIGSTOP)
            self.killed["frozen broker"] += 1
            self.go_on_until(lambda: self.record()["epoch"] != epoch, "the standby takes over")
            process.send_signal(signal.SIGCONT)
            expect(process.wait(60) == 3, f"a broker that lost its lease ended with {process.returncode}")
            self.fenced_count += 1
        else:
            self.kill(self.brokers[name], "serving broker")
            # The killed one may be back before the other one has noticed its end; then it serves on.
            self.go_on_until(lambda: self.record()["epoch"] != epoch, "a broker takes over")
        self.takeovers_s.append(time.monotonic() - begun)

    def run(self) -> dict[str, object]:
        begun = time.monotonic()
        self.start("a")
        self.go_on_until(lambda: self.serving() == "a", "the first broker serves")
        self.start("b")
        self.workers = [self.start_worker() for _ in range(kill_loop.WORKERS)]
        self.go_on_until(self.is_in_sync, "the standby has a copy")
        self.probe.start()
        while self.killed.total() < self.kill_count:
            acknowledged = len(self.probe.numbers)
            # bound to this value of the loop
            self.go_on_until(
                lambda n=acknowledged: self.is_in_sync() and len(self.probe.numbers) > n, "jobs are acknowledged"
            )
            self.pause(self.random.uniform(0, 0.5))
            self.fail_over()
        self.go_on_until(self.is_in_sync, "the standby has every commit")
        self.probe.is_over.set()
        self.go_on_until(lambda: not self.probe.is_alive(), "the last probe is acknowledged")
        kills_s = time.monotonic() - begun
        self.broker = self.brokers.pop(self.serving())
        self.store = self.folder / self.serving()
        self.wait_for_all_jobs()
        return {"kills_s": round(kills_s, 1), **self.count()}

    def wait_for_all_jobs(self) -> None:
        """Ends the standby last, because a reply waits for it."""
        other = self.brokers.copy()
        super().wait_for_all_jobs()
        for process in other.values():
            process.terminate()
            process.wait(30)

    def rows(self, store: Path) -> dict[str, kill_loop.Row]:
        return super().rows(store) | kill_loop.rows_of(store, "probe")

    def count(self) -> dict[str, object]:
        self.submitters[0].numbers |= self.probe.numbers
        return super().count()

    def close(self) -> None:
        self.probe.is_over.set()
        for process in self.brokers.values():
            if process.poll() is None:
                process.kill()
                process.wait(30)
        super().close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--kills",
        type=int,
        default=int(os.environ.get("KQ_KILLS") or 5),
        help="number of kills (default: KQ_KILLS, or 5)",
    )
    parser.add_argument("--seed", type=int, default=None, help="the seed of the random choices")
    parser.add_argument(
        "--gap-s", type=float, default=30, help="the longest wait for an acknowledgement; 5 on a machine without load"
    )
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 32)
    with tempfile.TemporaryDirectory(prefix="kq-fo.", dir="/tmp") as folder:
        loop = Failover(Path(folder), arguments.kills, seed)
        try:
            figures = loop.run()
            waits = sorted(loop.probe.waits_s)
            expect(waits[-1] <= arguments.gap_s, f"an acknowledgement took {waits[-1]:.2f} s")
        except (Failure, AssertionError) as failed:
            print(f"after {loop.killed.total()} kills, seed {seed}: {failed}", file=sys.stderr)
            sys.stderr.write((Path(folder) / "log").read_text(errors="replace")[-6000:])
            return 1
        finally:
            loop.close()
    takeovers = sorted(loop.takeovers_s) or [0.0]
    kills = ", ".join(f"{n} of a {what}" for what, n in sorted(loop.killed.items()))
    print(f"seed {seed}: {loop.killed.total()} kills ({kills}) in {figures['kills_s']} s")
    print(
        f"the other broker held the lease after {takeovers[len(takeovers) // 2]:.2f} s (median), "
        f"{takeovers[-1]:.2f} s (longest); {loop.fenced_count} brokers that had lost it ended by themselves"
    )
    print(
        f"an acknowledgement took {waits[len(waits) // 2]:.3f} s (median), {waits[-1]:.2f} s (longest) "
        f"of {len(waits)}; {figures['jobs']} jobs acknowledged, {figures['attempts']} attempts; {figures['verdicts']}"
    )
    print("0 acknowledged jobs lost, 0 results doubled, 0 changed; kq-ctl verify finds no error")
    return 0


if __name__ == "__main__":
    sys.exit(main())
