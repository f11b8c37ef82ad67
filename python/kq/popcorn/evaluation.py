"""Judges submissions to a problem in GPU MODE's form through the program kq, which must be in PATH."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kq.errors import BadInput, Error, InfraError
from kq.popcorn.leaderboards import leaderboards_in, spelled_unlike_a_path

NS_PER_US = 1e3
BAD_INPUT_EXIT = 2
STOP_LIMIT_S = 10.0  # how long kq submit may take to end after an interrupt
# The selections among a problem's workloads, by the mode of a run.
WORKLOADS = {"test": "test.*", "benchmark": "benchmark.*", "leaderboard": ""}
# Verdicts that say nothing about the submission.
SAYS_NOTHING = (
    "abandoned",
    "cancelled",
    "expired",
    "unsupported_here",
    "too_large",
    "compiled_only",
    "problem_invalid",
)


@dataclass
class Case:
    """The outcome of one test or benchmark. Times are in nanoseconds; 0: it was not timed."""

    kind: str  # test or benchmark
    spec: str  # "size: 1024; batch: 2"
    passed: bool
    runs: int = 0
    time_ns: float = 0.0  # kq's published time, a median
    std_ns: float = 0.0
    best_ns: float = 0.0
    worst_ns: float = 0.0

    @property
    def error_ns(self) -> float:
        """The standard error of the mean."""
        return self.std_ns / math.sqrt(self.runs) if self.runs else 0.0


@dataclass
class Outcome:
    """The outcome of one submission."""

    verdict: str
    message: str = ""
    cases: list[Case] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"

    @property
    def benchmarks(self) -> list[Case]:
        return [case for case in self.cases if case.kind == "benchmark"]

    @property
    def geomean_ns(self) -> float:
        """The geometric mean of the benchmarks; 0 without any."""
        times = [case.time_ns for case in self.benchmarks]
        return math.exp(sum(map(math.log, times)) / len(times)) if times and min(times) > 0 else 0.0


def evaluate(
    problem: str | Path, codes: Sequence[str], *, mode: str = "benchmark", name: str = "", options: Sequence[str] = ()
) -> list[Outcome]:
    """Judges each code and returns the outcomes in the same order.

    `problem` is the folder of a problem, or with `name` a checkout that has a problem of this name, whatever problem
    the lines `#!POPCORN` of a code name. `options` are more words for kq submit, such as ["--device", "cuda"]. Raises
    BadInput for a problem or a code that cannot be sent, and InfraError if kq could not judge a code.
    """
    run = f"popcorn-{uuid.uuid4().hex[:12]}"
    with tempfile.TemporaryDirectory(prefix="kq-popcorn.") as folder:
        for index, code in enumerate(codes):
            Path(folder, f"{index}_submission.py").write_text(code)
        words = [folder, *problem_words(problem, name), *options]
        if WORKLOADS[mode]:
            words += ["--workloads", WORKLOADS[mode]]
        try:
            submit_and_wait(run, words)
        except BadInput as error:
            known = leaderboards_in(problem) if name else []
            if not known or "has no problem" not in str(error):
                raise
            raise BadInput(f"there is no leaderboard {name} in {problem}; there are {', '.join(known)}") from error
    jobs = {row["label"].rpartition("/")[2]: row for row in rows_of(run)}
    cases: dict[str, list[dict[str, Any]]] = {}
    for row in rows_of(run, "--level", "case"):
        cases.setdefault(row["label"].rpartition("/")[2], []).append(row)
    found = []
    for index in range(len(codes)):
        label = f"{index}_submission"
        if label not in jobs:
            raise InfraError(f"kq knows no job of code {index}")
        found.append(outcome_of(jobs[label], cases.get(label, []), mode))
    return found


def problem_words(problem: str | Path, name: str) -> list[str]:
    """Returns the words for kq submit that name the problem of all codes."""
    if not name:
        return ["--problem", str(problem)]
    return ["--problem", spelled_unlike_a_path(name), "--problems", str(problem)]


def outcome_of(job: dict[str, Any], cases: Sequence[dict[str, Any]], mode: str) -> Outcome:
    verdict = str(job["verdict"])
    if verdict in SAYS_NOTHING:
        raise InfraError(f"kq could not judge the code: {verdict}: {job['message'] or job['last_error'] or ''}")
    return Outcome(verdict, str(job["message"] or ""), [case_of(row, mode) for row in cases])


def case_of(row: dict[str, Any], mode: str) -> Case:
    """Returns the case of a row. A job with one workload names none, and then the mode says what it is."""
    kind, _, rest = str(row.get("case_id") or "").partition(".")
    if kind not in ("test", "benchmark"):
        kind = "test" if mode == "test" else "benchmark"
    case = Case(kind, rest.partition(" (")[2].removesuffix(")"), row["verdict"] == "passed")
    if row.get("samples_n"):
        case.runs = int(row["samples_n"])
        case.time_ns, case.std_ns, case.best_ns, case.worst_ns = (
            float(row.get(name) or 0) * NS_PER_US for name in ("median_us", "std_us", "min_us", "max_us")
        )
    return case


def evaluate_code(
    problem: str | Path, code_strs: Sequence[str], *, strict: bool = False, options: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Returns what Autocomp's evaluate_code() returns: a dict for each code with `correct`, `stdout` and, if it is
    correct, `latency`: the geometric mean of the benchmarks, rounded to 3 decimals, in microseconds. Autocomp's own
    local evaluation has nanoseconds there; a strict call has them, too.
    """
    from kq.popcorn.texts import protocol_lines  # imported here, because the texts are made of outcomes

    results = []
    for outcome in evaluate(problem, code_strs, options=options):
        result: dict[str, Any] = {"correct": outcome.passed, "stdout": protocol_lines(outcome, "benchmark")}
        if outcome.passed:
            result["latency"] = round(outcome.geomean_ns / (1.0 if strict else NS_PER_US), 3)
        else:
            result["stderr"] = outcome.message
        results.append(result)
    return results


def rows_of(run: str, *words: str) -> list[dict[str, Any]]:
    text = run_kq(["dump", "--run", run, "--format", "jsonl", *words])
    return [json.loads(line) for line in text.splitlines()]


def run_kq(words: Sequence[str]) -> str:
    """Runs kq and returns its output. Raises BadInput or InfraError with what it says."""
    with started(words) as process:
        try:
            output, said = process.communicate()
        except BaseException:
            process.kill()
            raise
    check(process, words, said)
    return output


def submit_and_wait(run: str, words: Sequence[str]) -> None:
    """Runs kq submit for the jobs of a new run and waits for them. Raises BadInput or InfraError with what it says.

    An interrupt cancels the jobs, or a sentence on standard error names the command that cancels them. Where this
    program turns SIGTERM into SystemExit, SIGTERM is an interrupt too, and kq submit runs in its own session: ^C of the
    terminal and signals to the process group reach only this program, which ends kq submit with one signal. Elsewhere
    the signals reach kq submit directly.
    """
    words = ["submit", *words, "--run", run, "--wait", "--exit-zero", "--json", "--quiet", "--progress", "none"]
    process = started(words, is_apart=signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL)
    try:
        _, said = process.communicate()
    except (KeyboardInterrupt, SystemExit):
        print(f"kq.popcorn: interrupted{what_became_of_jobs(run, process)}", file=sys.stderr)
        raise
    check(process, words, said)


def what_became_of_jobs(run: str, process: subprocess.Popen[str]) -> str:
    """Ends kq submit and cancels its jobs. Returns the end of a sentence that begins with `interrupted`.

    Where another call has submitted one of the jobs before, no job is cancelled: the other call may still wait for it.
    """
    how = f"; the command kq ctl cancel --run {run} cancels what it has submitted"
    process.terminate()
    try:
        output, _ = process.communicate(timeout=STOP_LIMIT_S)
        jobs = json.loads(output)["jobs"]
    except (subprocess.TimeoutExpired, ValueError):  # without an object, kq submit was ended before it began
        process.kill()
        return how
    waiting = [job["acceptance"] for job in jobs if job["state"] != "finished"]
    if not waiting or set(waiting) != {"accepted"}:
        return how
    try:
        run_kq(["ctl", "cancel", "--run", run])
    except Error as error:
        return f"{how}: {error}"
    return ", and its job is cancelled" if len(waiting) == 1 else f", and its {len(waiting)} jobs are cancelled"


def started(words: Sequence[str], is_apart: bool = False) -> subprocess.Popen[str]:
    """Starts kq, in a session of its own if it `is_apart`."""
    program = os.environ.get("KQ_PROGRAM", "kq")
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen([program, *words], stdout=pipe, stderr=pipe, text=True, start_new_session=is_apart)
    except FileNotFoundError as error:
        raise InfraError(f"there is no program {program} in PATH") from error


def check(process: subprocess.Popen[str], words: Sequence[str], said: str) -> None:
    """Raises BadInput or InfraError if the program failed."""
    if process.returncode == 0:
        return
    said = said.strip() or f"kq {words[0]} ended with exit code {process.returncode}"
    raise BadInput(said) if process.returncode == BAD_INPUT_EXIT else InfraError(said)
