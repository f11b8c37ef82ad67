"""Kills the gateway and the broker many times while clients submit by HTTP, and then asks for every job.

    kill_gateway.py [--kills N] [--seed N]

The gateway, the broker and its store are the real programs; the worker invents results (light_worker.cc). Clients
submit by POST /api/v1/jobs with an Idempotency-Key, by POST /evaluate and by POST /batch. A client repeats a request
that was cut or answered 503 until it is taken, and repeats some requests that were taken. Each kill hits the gateway,
the broker or both at a random moment. A killed process is started again after at most a second, the gateway at the same
port. Among 20 kills or more, the broker is once away for so long that requests are answered 503.

The exit code is 0 only if all of these hold:
- no answer has a status that share/kq.openapi.json does not describe for its route, or says that the client is wrong;
- a repeated request gets the ids of the first one, where it has an Idempotency-Key; else the same job;
- every id of a job that was given to a client has a result at the end, under both /api/v1/jobs and /job;
- the store has exactly one finished job for each kernel, and kq-ctl verify finds no error.
"""

import abc
import argparse
import contextlib
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kq
from http_client import Answer, Client, line
from ports import free_port

CLIENTS = 3  # of each kind
BATCH_REQUESTS = 4
REPEAT_CHANCE = 0.3  # the probability that a request is sent again although it was taken
AWAY_S_MAX = 1.0  # how long a killed process is away at most
LONG_AWAY_KILLS = 20  # from this number of kills on, the broker is once away for longer
LONG_AWAY_S = 12  # longer than the gateway waits for the broker
RETRY_S = 0.05
TAKEN_LIMIT_S = 120.0  # the longest time until a request is taken
RESULT_WAIT_S = 60
TAKEN = (200, 201, 202)


class Failure(Exception):
    pass


def expect(condition: object, what: str) -> None:
    if not condition:
        raise Failure(what)


def number_of(job_id: str) -> int:
    """Returns the number of a job at the broker, with which its id begins."""
    return int(job_id.split(".")[0])


class Known:
    """The jobs that clients know: the ids given for each kernel. Clients share it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.number_of_kernel: dict[str, int] = {}
        self.ids: set[str] = set()
        self.statuses: Counter[int] = Counter()
        self.cut_count = 0

    def add(self, kernel: str, job_id: str) -> None:
        with self.lock:
            self.ids.add(job_id)
            number = self.number_of_kernel.setdefault(kernel, number_of(job_id))
        expect(number == number_of(job_id), f"kernel {kernel} is job {number} and job {number_of(job_id)}")


class Submitter(threading.Thread, abc.ABC):
    """Sends one request after the other until it is told to stop, each until it is taken."""

    def __init__(self, name: str, seed: int, port: int, known: Known, stopping: threading.Event) -> None:
        super().__init__(name=name, daemon=True)  # a client may wait for an answer when the program fails
        self.random = random.Random(f"{seed} {name}")
        self.client = Client(port)
        self.known = known
        self.stopping = stopping
        self.failure: BaseException | None = None
        self.round = 0

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                self.round += 1
                self.submit([f"{self.name}-{self.round}-{i}x" for i in range(self.random.randint(1, BATCH_REQUESTS))])
        except BaseException as error:
            self.failure = error

    @abc.abstractmethod
    def submit(self, kernels: list[str]) -> None:
        """Submits the kernels by one way of the gateway, and notes the ids of the accepted jobs."""

    def until_taken(self, send: Callable[[], Answer]) -> Answer:
        """Repeats a request until it is taken. Answers must be described ones, which Client.call() checks."""
        end = time.monotonic() + TAKEN_LIMIT_S
        while time.monotonic() < end:
            try:
                answer = send()
            except (OSError, http.client.HTTPException):
                with self.known.lock:
                    self.known.cut_count += 1
            else:
                with self.known.lock:
                    self.known.statuses[answer.status] += 1
                if answer.status in TAKEN:
                    return answer
                expect(answer.status == 503, f"{self.name} was answered {answer.status}: {answer.text}")
                expect("Retry-After" in answer.headers, f"a 503 has no Retry-After: {answer.text}")
                with contextlib.suppress(KeyError, TypeError):
                    self.note_refused(answer.json)
            time.sleep(self.random.uniform(0, 2 * RETRY_S))
        raise Failure(f"a request of {self.name} was not taken for {TAKEN_LIMIT_S:.0f} s")

    def note_refused(self, body: dict[str, Any]) -> None:
        """Notes the job of a request that was taken, but whose wait has ended early."""

    def repeats(self) -> bool:
        return self.random.random() < REPEAT_CHANCE


class WithKey(Submitter):
    """Submits by POST /api/v1/jobs. The labels say which kernel a job has."""

    def submit(self, kernels: list[str]) -> None:
        lines = [line(kernel, f"# {kernel}\n{kq.RIGHT}") for kernel in kernels]
        run = self.random.choice(("", f"run-{self.name}"))
        key = f"{self.name}-{self.round}"

        def send() -> Answer:
            return self.client.submit(lines, run, key)

        answer = self.until_taken(send)
        ids = [job["id"] for job in answer.json["jobs"]]
        for kernel, job_id in zip(kernels, ids, strict=True):
            self.known.add(kernel, job_id)
        if not self.repeats():
            return
        again = self.until_taken(send)
        expect(again.status == 200, f"a repeated request was answered {again.status}: {again.text}")
        expect(again.headers["Idempotency-Replayed"] == "true", "a repeated request was not taken for one")
        expect([job["id"] for job in again.json["jobs"]] == ids, f"a repeated request got other ids: {again.text}")


def evaluation(kernel: str) -> dict[str, Any]:
    source = f"# {kernel}\n{kq.RELU}"
    return {"kernel": {"source_code": source, "kernel_type": "torch"}, "num_trials": 1}


class Evaluating(Submitter):
    """Submits by POST /evaluate, and waits for the result or not."""

    def submit(self, kernels: list[str]) -> None:
        kernel = kernels[0]
        body = json.dumps(evaluation(kernel))
        path = self.random.choice(("/evaluate?wait=0", "/evaluate"))
        self.kernel = kernel
        for _ in range(2 if self.repeats() else 1):
            answer = self.until_taken(lambda: self.client.call("POST", path, body))
            self.known.add(kernel, answer.json["job_id"])

    def note_refused(self, body: dict[str, Any]) -> None:
        self.known.add(self.kernel, body["job_id"])


class Batching(Submitter):
    """Submits by POST /batch. A batch whose answer is cut, or has lines with 503, is sent again."""

    def submit(self, kernels: list[str]) -> None:
        body = json.dumps({"requests": [evaluation(kernel) | {"id": kernel} for kernel in kernels]})
        for _ in range(2 if self.repeats() else 1):
            end = time.monotonic() + TAKEN_LIMIT_S
            while not self.is_done(self.until_taken(lambda: self.client.call("POST", "/batch", body)), kernels):
                expect(time.monotonic() < end, f"a batch was not taken for {TAKEN_LIMIT_S:.0f} s")
                time.sleep(RETRY_S)

    def is_done(self, answer: Answer, kernels: list[str]) -> bool:
        lines = [json.loads(one) for one in answer.text.splitlines()]
        expect(sorted(one["id"] for one in lines) == sorted(kernels), f"a batch was answered {answer.text}")
        for one in lines:
            expect(one["status_code"] in (200, 503), f"a request of a batch was answered {one}")
            if "job_id" in one["body"]:
                self.known.add(one["id"], one["body"]["job_id"])
        return all(one["status_code"] == 200 for one in lines)


class Loop:
    def __init__(self, folder: Path, kill_count: int, seed: int) -> None:
        self.folder, self.kill_count = folder, kill_count
        self.random = random.Random(seed)
        self.url, self.store = f"ipc://{folder}/b", folder / "store"
        self.port = free_port()
        self.log = (folder / "log").open("ab")
        self.killed: Counter[str] = Counter()
        self.known = Known()
        self.stopping = threading.Event()
        kinds = (WithKey, Evaluating, Batching)
        self.submitters = [
            kind(f"{kind.__name__.lower()}{i}", seed, self.port, self.known, self.stopping)
            for kind in kinds
            for i in range(CLIENTS)
        ]
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, what: str) -> None:
        broker = ("--bind", self.url, "--store", self.store, "--lease", "3s")
        gateway = ("--broker", self.url, "--listen", f"127.0.0.1:{self.port}", "--log-level", "warning")
        words = broker if what == "kq-broker" else gateway
        self.running[what] = kq.start(what, *words, stderr=self.log)

    def kill(self, what: str) -> None:
        process = self.running[what]
        expect(process.poll() is None, f"{what} has ended by itself, with {process.returncode}")
        process.kill()
        process.wait(30)
        self.killed[what] += 1

    def run(self) -> dict[str, object]:
        self.start("kq-broker")
        self.start("kq-gateway")
        worker = [str(kq.BIN / "light_worker"), self.url, "light"]
        self.running["worker"] = subprocess.Popen(worker, env=kq.environment(), stderr=self.log)
        for submitter in self.submitters:
            submitter.start()
        while self.killed.total() < self.kill_count // 2:
            self.kill_some()
        if self.kill_count >= LONG_AWAY_KILLS:
            self.take_the_broker_away()
        while self.killed.total() < self.kill_count:
            self.kill_some()
        self.stopping.set()
        for submitter in self.submitters:
            submitter.join(2 * TAKEN_LIMIT_S)
        self.check_submitters()
        self.check_results()
        self.check_store()
        return {
            "kills": dict(self.killed),
            "kernels": len(self.known.number_of_kernel),
            "ids": len(self.known.ids),
            "cut": self.known.cut_count,
            "statuses": dict(sorted(self.known.statuses.items())),
        }

    def kill_some(self) -> None:
        """Waits for a while, kills the gateway, the broker or both, and starts them again."""
        time.sleep(self.random.uniform(0.05, 0.6))
        self.check_submitters()
        chance = self.random.random()
        kills = [["kq-gateway"], ["kq-broker"], ["kq-gateway", "kq-broker"]][(chance > 0.45) + (chance > 0.85)]
        for what in kills:
            self.kill(what)
        time.sleep(self.random.choice((0.0, self.random.uniform(0, AWAY_S_MAX))))
        for what in kills:
            self.start(what)

    def take_the_broker_away(self) -> None:
        self.kill("kq-broker")
        time.sleep(LONG_AWAY_S)
        health = Client(self.port).get("/health")
        expect(health.status == 500, f"without a broker, /health was answered {health.status}")
        expect(self.known.statuses[503] > 0, f"without a broker, no request was answered 503 for {LONG_AWAY_S} s")
        self.start("kq-broker")

    def check_submitters(self) -> None:
        for submitter in self.submitters:
            if submitter.failure is not None:
                raise Failure(f"{submitter.name}: {submitter.failure!r}") from submitter.failure

    def check_results(self) -> None:
        client = Client(self.port)
        for job_id in sorted(self.known.ids):
            answer = client.get(f"/api/v1/jobs/{job_id}/result?wait={RESULT_WAIT_S}")
            expect(answer.status == 200, f"job {job_id} was answered {answer.status}: {answer.text}")
            expect(answer.json["verdict"] in ("passed", "wrong_answer"), f"job {job_id} is {answer.text}")
            job = client.get(f"/job/{job_id}")
            expect(job.json["status"] == "completed", f"job {job_id} is {job.text}")

    def check_store(self) -> None:
        self.kill("kq-broker")
        done = kq.kq("ctl", "verify", "--store", self.store, "--json")
        expect(done.returncode == 0, f"kq-ctl verify: {done.stdout}{done.stderr}")
        found = json.loads(done.stdout)
        count = len(self.known.number_of_kernel)
        expect(len(set(self.known.number_of_kernel.values())) == count, "two kernels are one job")
        expect(found["finished"] == count, f"{found['finished']} finished jobs for {count} kernels")
        expect(found["results"] == count, f"{found['results']} results for {count} kernels")

    def close(self) -> None:
        self.stopping.set()
        for process in self.running.values():
            if process.poll() is None:
                process.kill()
            process.wait(30)
        self.log.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kills = int(os.environ.get("KQ_KILLS") or 8)
    parser.add_argument("--kills", type=int, default=kills, help="number of kills (default: KQ_KILLS, or 8)")
    parser.add_argument("--seed", type=int, default=32, help="the seed of the random choices (default: 32)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kq-kill.", dir="/tmp") as folder:
        loop = Loop(Path(folder), arguments.kills, arguments.seed)
        try:
            figures = loop.run()
        except (Failure, AssertionError) as failed:
            print(f"after {loop.killed.total()} kills, seed {arguments.seed}: {failed}", file=sys.stderr)
            sys.stderr.write((Path(folder) / "log").read_text(errors="replace")[-4000:])
            return 1
        finally:
            loop.close()
    print(f"seed {arguments.seed}: {json.dumps(figures)}")
    print("every id that a client was given has its result; no kernel is two jobs; kq-ctl verify finds no error")
    return 0


if __name__ == "__main__":
    sys.exit(main())
