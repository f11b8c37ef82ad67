"""kill -9 at random instants for real workers while they build: one that only builds, and one that runs what it is given.

    kill_builders.py [--kills N] [--seed N]

Each job has a module of its own, whose one function gives the job's number; a call with any other job's module is a wrong answer. Both workers build,
hand over, adopt, unpack and run all the time, and are started again at once after each kill, on the caches that were left. In the end every job must
have passed, or have been abandoned because its attempts were killed; some must have run what was built elsewhere; both caches and the store are whole.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import kq

SOURCE = """import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r'''
#include <Python.h>
static PyObject* number(PyObject*, PyObject*) { return PyLong_FromLong(NUMBER); }
static PyMethodDef methods[] = {{"number", number, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "small", nullptr, -1, methods};
PyMODINIT_FUNC PyInit_small() { return PyModule_Create(&definition); }
'''
small = load_inline("small", SOURCE, no_implicit_headers=True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + (small.number() - NUMBER)
"""
SKIPPED = 77  # exit code, to ctest
WAITING = 8  # jobs that wait, at least: enough for both
LIFE_S = 3.0  # of a worker that is up, at most
CALM_S = 300


class Loop:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        self.url = f"ipc://{folder}/b"
        self.log = (folder / "log").open("ab")
        self.jobs_n = 0
        self.killed: Counter[str] = Counter()

    def start(self, role: str) -> "kq.subprocess.Popen[bytes]":
        words = {"builder": ["--compile-for", "cpu"], "worker": ["--devices", "cpu"]}[role]
        return kq.start("kq-worker", "--connect", self.url, "--state", self.folder / role, "--builds", "1", *words, stderr=self.log)

    def figures(self) -> dict[str, float]:
        done = kq.kq("ctl", "stats", "--json", KQ_BROKER=self.url)
        return {one["name"] + one["labels"].get("state", "") + one["labels"].get("ending", ""): one["value"] for one in kq.json.loads(done.stdout)["metrics"]}

    def submit_some(self) -> None:
        """A queue that is never empty: a builder is given what waits."""
        figures = self.figures()
        if figures["kq_queue_jobsqueued"] + figures["kq_queue_jobswaiting"] >= WAITING:
            return
        first, self.jobs_n = self.jobs_n, self.jobs_n + WAITING
        sources = {f"{n:06}": SOURCE.replace("NUMBER", str(n)) for n in range(first, self.jobs_n)}
        jobs = kq.write_sweep(self.folder / str(first), sources)
        done = kq.kq("submit", jobs, "--run", "r", "--device", "cpu", KQ_BROKER=self.url)
        assert done.returncode == 0, done.stderr

    def run(self, kills_n: int) -> dict[str, object]:
        with kq.program("kq-broker", "--bind", self.url, "--store", self.folder / "store", "--lease", "2s"):
            self.submit_some()
            workers = {role: self.start(role) for role in ("builder", "worker")}
            try:
                while self.killed.total() < kills_n:
                    self.submit_some()
                    time.sleep(self.random.uniform(0, LIFE_S))
                    role = self.random.choice(sorted(workers))
                    assert workers[role].poll() is None, f"the {role} has ended by itself, with {workers[role].returncode}"
                    workers[role].send_signal(signal.SIGKILL)
                    workers[role].wait(30)
                    self.killed[role] += 1
                    workers[role] = self.start(role)
                kq.wait_until(lambda: self.figures()["kq_queue_jobsqueued"] == 0, "the queue is empty", CALM_S)
                kq.wait_until(lambda: sum(n for name, n in self.figures().items() if name.startswith("kq_queue_jobs")) == 0, "every job has ended", CALM_S)
            finally:
                for process in workers.values():
                    process.kill()
                    process.wait(30)
            taken_n = int(self.figures()["kq_builds_totaltaken"])
            rows = kq.dump("r", "--broker", self.url)
        verdicts = Counter(row["verdict"] for row in rows)
        assert len(rows) == self.jobs_n, f"{len(rows)} rows of {self.jobs_n} jobs"
        assert set(verdicts) <= {"passed", "abandoned"}, f"{verdicts}: {[row for row in rows if row['verdict'] not in ('passed', 'abandoned')][:2]}"
        self.check_disk()
        return {"jobs": len(rows), "verdicts": dict(verdicts), "taken": taken_n, "cached": sum(row["build_cached"] == "true" for row in rows)}

    def check_disk(self) -> None:
        for role in ("builder", "worker"):
            if role == "builder" and not (self.folder / role / "build-cache").exists():
                continue  # it was killed before it built anything, and the worker was faster than the next one
            done = kq.kq("ctl", "cache", "verify", "--state", self.folder / role)
            assert done.returncode == 0, f"cache of the {role}: {done.stdout}{done.stderr}"
        done = kq.kq("ctl", "verify", "--store", self.folder / "store")
        assert done.returncode == 0, done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=3, help="how many")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32), help="of what chance decides")
    parser.add_argument("--in-ci", action="store_true", help="only where KQ_KILLS is set, as CI does: each job takes two seconds to build")
    arguments = parser.parse_args()
    if arguments.in_ci and "KQ_KILLS" not in os.environ:
        print("skipped: KQ_KILLS is not set")
        return SKIPPED
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kq-kill.", dir="/tmp") as folder:
        loop = Loop(Path(folder), arguments.seed)
        try:
            figures = loop.run(arguments.kills)
        except AssertionError as failed:
            print(f"after {loop.killed.total()} kills, seed {arguments.seed}: {failed}", file=sys.stderr)
            sys.stderr.write((Path(folder) / "log").read_text(errors="replace")[-4000:])
            return 1
    kills = ", ".join(f"{n} of a {role}" for role, n in sorted(loop.killed.items()))
    print(f"seed {arguments.seed}: {loop.killed.total()} kill -9 ({kills}) in {time.monotonic() - began:.0f} s")
    print(f"{figures['jobs']} jobs: {figures['verdicts']}; {figures['taken']} objects were handed over, {figures['cached']} jobs ran what was built before")
    print("no wrong object, no hang; both caches and the store are whole")
    return 0


if __name__ == "__main__":
    sys.exit(main())
