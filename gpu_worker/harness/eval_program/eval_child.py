"""The eval child: runs the problem's own program, which calls, checks and times the submission. It has the sandbox of
a submission child. What it reports is self-reported: program, clock and submission share this sandbox.

The problem's file is JSON (producer/formats/popcorn/eval_problem.cc writes it):

    {"lang": "py", "config": {"main": "eval.py"}, "files": {"eval.py": TEXT, "submission.py": null}, "seed": null,
     "tests": ["size: 16; seed: 1"], "test_names": ["test.0 (size: 16)"],
     "benchmarks": ["size: 64; seed: 2"], "benchmark_names": ["benchmark.0 (size: 64)"],
     "limits_s": {"test": 180, "benchmark": 180, "leaderboard": 420}, "ranking_by": "geom"}

The file without a text is the submission. A program of a problem that needs several GPUs sees all of them, and gets
their number in POPCORN_GPUS. The child waits for its assignment in the channel, whose "mode" is test,
benchmark, profile or leaderboard. A leaderboard run is test, benchmark and leaderboard with the problem's seed, and
then the same with a secret seed, which is drawn here, is in no file, and ends with the run. Of the secret run only its
end is reported. A profile run calls the program once for each benchmark, under ncu where the worker has one and the
program is made for it (ncu_run.py), with POPCORN_NCU=1; else POPCORN_NCU is empty, because some programs take every
other text, "0" too, as yes. The child leaves in out/:

    result.json   {"verdict": "passed", "stage": "", "message": "", "score_ns": 1.5, "cases": [CASE]}
                  CASE is {"name", "timed", "passed", "message", "runs", "mean", "std", "err", "best", "worst"}

and prints the lines of every public run of the program.
"""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from harness.children.channel import CHANNEL_FD
from harness.children.job import Job
from harness.eval_program import native_program, ncu_run, protocol
from harness.eval_program.protocol import Stage

ASSIGNMENT_BYTES = 4096
RESULT_FILE = "result.json"
CASES_FILE = "kq_cases.txt"
LINES_BYTES_MAX = 8 << 20  # of one run of the program; the rest is read and dropped
OUTPUT_BYTES_MAX = 16 << 10  # the end of stdout and stderr of one run
MESSAGE_CHARACTERS = 2_000
SECRET_SEED_BITS = 31
COMPILE_LIMIT_S = 120.0
# The exit codes of eval programs.
EXIT_USAGE, EXIT_CUDA, EXIT_NO_DESCRIPTOR, EXIT_SPEC = 2, 110, 111, 113

KEYS = {"lang", "config", "files", "seed", "tests", "test_names", "benchmarks", "benchmark_names", "limits_s"}
KEYS |= {"ranking_by"}

Report = dict[str, Any]


def run(job: Job) -> int:
    # A worker's processes ignore these signals. A program must not inherit that: multiprocessing ends the processes of
    # a pool by SIGTERM and waits for them.
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_DFL)
    channel = socket.socket(fileno=CHANNEL_FD)
    order = json.loads(channel.recv(ASSIGNMENT_BYTES))
    channel.close()
    submission = (job.given / order["entry"]).read_text()
    try:
        problem = problem_in((job.given / order["problem"]).read_text())
        eval_run = EvalRun(problem, submission, job.work / "run", job.arch, job.device_count)
        if order["mode"] == "profile":
            report = eval_run.profile(ncu_run.profiler_for(problem["files"], job))
        else:
            report = eval_run.report(order["mode"])
    except native_program.CompileFailed as error:
        report = failure("build_failed", "build", str(error))
    except NoEvalProblem as error:
        report = failure("problem_invalid", "load", str(error))
    (job.out / RESULT_FILE).write_text(json.dumps(report))
    return 0


class NoEvalProblem(Exception):
    """Says that the problem's file has another form."""


def problem_in(text: str) -> dict[str, Any]:
    """Returns the problem. Raises NoEvalProblem."""
    try:
        problem = json.loads(text)
    except ValueError as error:
        raise NoEvalProblem(
            "the backend eval_program needs a problem in GPU MODE's form: kq submit --judged-by"
        ) from error
    if not isinstance(problem, dict) or KEYS - set(problem):
        raise NoEvalProblem(f"the problem lacks some of {', '.join(sorted(KEYS))}")
    return problem


class EvalRun:
    """One job: the folder with the problem's files and the submission, in which the program runs."""

    def __init__(
        self, problem: dict[str, Any], submission: str, folder: Path, arch: str, device_count: int = 1
    ) -> None:
        self.problem = problem
        self.device_count = device_count
        self.folder = folder
        folder.mkdir()
        for name, text in problem["files"].items():
            (folder / name).write_text(submission if text is None else text)
        if problem["lang"] == "py":
            self.fill_extension_cache(next(name for name, text in problem["files"].items() if text is None), submission)
        else:
            native_program.compile_program(folder, problem["config"], arch)

    def report(self, mode: str) -> Report:
        """Runs the stages of the mode up to the first that does not pass."""
        wanted = ["test", "benchmark", "leaderboard"] if mode == "leaderboard" else [mode]
        stages = [stage for stage in wanted if self.cases(stage)]
        cases: list[protocol.Case] = []
        for name in stages:
            stage = self.run_stage(name, self.cases(name), self.problem["seed"])
            self.print_stage(stage)
            if name == "test":
                cases = protocol.tests_of(stage, self.problem["test_names"])
            else:
                tests = [case for case in cases if not case["timed"]]
                cases = tests + protocol.benchmarks_of(stage, self.problem["benchmark_names"])
            if not stage.passed:
                return self.failed(stage) | {"cases": cases}
        score = 0.0
        if timed := [case for case in cases if case["timed"] and case["passed"]]:
            score = protocol.score_ns([float(str(case["mean"])) for case in timed], self.problem["ranking_by"])
        for name in stages if mode == "leaderboard" else []:
            stage = self.run_stage(name, self.cases(name), secrets.randbits(SECRET_SEED_BITS), is_secret=True)
            if not stage.passed:
                return self.failed(stage) | {"cases": cases}
        return {"verdict": "passed", "stage": "", "message": "", "score_ns": score, "cases": cases}

    def profile(self, ncu: ncu_run.Profiler | None) -> Report:
        """Runs the mode profile once for each benchmark, up to the first that does not pass. It has no times."""
        cases: list[protocol.Case] = []
        report: Report = {"verdict": "passed", "stage": "", "message": "", "score_ns": 0.0}
        for index, (line, name) in enumerate(zip(self.problem["benchmarks"], self.problem["benchmark_names"])):
            before = None if ncu is None else ncu.words(index)
            stage = self.run_stage("profile", [line], self.problem["seed"], before=before)
            stage.rename_case("benchmark.0", f"benchmark.{index}")
            if ncu is not None and (tables := ncu.tables(index, name)):
                stage.values[f"benchmark.{index}.report"] = protocol.encoded(tables)
            self.print_stage(stage)
            if not stage.passed:
                report = self.failed(stage)
                break
            cases.append({"name": name, "timed": False, "passed": True, "message": ""})
        if ncu is not None:
            ncu.leave_metrics()
        return report | {"cases": cases}

    def cases(self, stage: str) -> list[str]:
        return list(self.problem["tests" if stage == "test" else "benchmarks"])

    def fill_extension_cache(self, name: str, submission: str) -> None:
        """Runs a submission with extensions once, so that their compilation does not count against a stage's limit. The
        program raises the error of a failed compilation again.
        """
        if "cpp_extension" in submission:
            with open(os.devnull, "rb") as null:
                self.run_process([sys.executable, name], null.fileno(), {}, COMPILE_LIMIT_S)

    def run_stage(
        self,
        mode: str,
        cases: list[str],
        seed: int | None,
        is_secret: bool = False,
        before: list[str] | None = None,
    ) -> Stage:
        """Runs the program with these lines as its cases. The words `before` are those of a profiler that starts it."""
        (self.folder / CASES_FILE).write_text("".join(f"{line}\n" for line in cases))
        main = [f"./{native_program.PROGRAM}"]
        if self.problem["lang"] == "py":
            main = [sys.executable, self.problem["config"]["main"]]
            if mode != "profile":  # which has no secret seeds
                main.insert(1, str(Path(__file__).with_name("launch.py")))
        words = [*(before or []), *main, mode, CASES_FILE]
        limits = self.problem["limits_s"]
        limit_s = limits.get(mode, limits["benchmark"])
        lines, other = os.pipe()
        seed_out, seed_in = os.pipe()
        os.write(seed_in, f"{'' if seed is None else seed}\n".encode())
        os.close(seed_in)
        reader = Drain(lines)
        os.set_inheritable(other, True)
        environment = {"POPCORN_FD": str(other)}
        if seed is not None and (self.problem["lang"] == "cu" or mode == "profile"):
            environment["POPCORN_SEED"] = str(seed)
        if self.device_count > 1:
            environment["POPCORN_GPUS"] = str(self.device_count)
        if mode == "profile":
            environment["POPCORN_NCU"] = "" if before is None else "1"
        try:
            code, output = self.run_process(words, seed_out, environment, limit_s, other)
        finally:
            os.close(other)
            os.close(seed_out)
        text = reader.finish()
        return Stage(mode, is_secret, code or 0, code is None, protocol.parse(text), output)

    def run_process(
        self, words: list[str], stdin: int, variables: dict[str, str], limit_s: float, keep: int | None = None
    ) -> tuple[int | None, str]:
        """Returns the exit code, None after the time limit, and the end of the output. Kills all processes that the
        program has started in its session.
        """
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        output, output_in = os.pipe()
        process = subprocess.Popen(
            words,
            cwd=self.folder,
            stdin=stdin,
            stdout=output_in,
            stderr=output_in,
            env={**os.environ, "PATH": path, **variables},
            pass_fds=[] if keep is None else [keep],
            start_new_session=True,
        )
        os.close(output_in)
        reader = Drain(output, keeps_end=True)
        code: int | None
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        return code, reader.finish()

    def print_stage(self, stage: Stage) -> None:
        """Prints the lines of a public run, which become the job's log."""
        print(f"== {stage.mode}: exit code {stage.exit_code}{', stopped by its limit' if stage.timed_out else ''}")
        for key, value in stage.values.items():
            if not key.endswith(".report"):
                print(f"{key}: {value}")
        if report := protocol.report_text(stage):
            print(report)
        if not stage.passed and stage.output:
            print(stage.output)

    def failed(self, stage: Stage) -> Report:
        """Returns the verdict of a stage that did not pass."""
        place = f"the {stage.mode} run"
        if stage.is_secret:
            # Neither cases nor outputs of a secret run are shown, because they would tell its seeds.
            verdict = "timed_out" if stage.timed_out else "wrong_answer"
            return failure(verdict, "secret", f"{place} with secret seeds did not pass; the public runs did")
        if stage.timed_out:
            limit = self.problem["limits_s"].get(stage.mode, self.problem["limits_s"]["benchmark"])
            return failure("timed_out", stage.mode, f"{place} took longer than {limit} s")
        if failures := stage.failures():
            case, error = failures[0]
            return failure("wrong_answer", stage.mode, f"{self.name_of(case)}: {error}")
        if stage.mode == "profile" and stage.exit_code == EXIT_USAGE and not stage.values:
            return failure("problem_invalid", stage.mode, "the program does not know the mode profile")
        if stage.exit_code == EXIT_SPEC:
            return failure("problem_invalid", stage.mode, f"the program cannot read its cases: {stage.output}")
        if stage.exit_code == EXIT_NO_DESCRIPTOR:
            return failure("problem_invalid", stage.mode, "the program finds no POPCORN_FD")
        if stage.exit_code == EXIT_CUDA:
            return failure("gpu_fault", stage.mode, f"{place} met an error of CUDA: {stage.output}")
        if stage.exit_code < 0:
            return failure("crashed", stage.mode, f"{place} died of signal {-stage.exit_code}: {stage.output}")
        if stage.values.get("check") == "fail" or stage.exit_code == 0:
            return failure("wrong_answer", stage.mode, f"{place} reports no pass: {stage.output}")
        return failure("runtime_error", stage.mode, f"{place} ended with exit code {stage.exit_code}: {stage.output}")

    def name_of(self, case: str) -> str:
        kind, _, index = case.partition(".")
        names = self.problem.get(f"{kind}_names", [])
        return names[int(index)] if index.isdigit() and int(index) < len(names) else case


class Drain:
    """Reads a pipe to its end in a thread of its own, so that no process waits for room in it, and keeps a bounded part
    of its bytes: the beginning, or the end.
    """

    END_LIMIT_S = 5.0  # after the program has ended; another process may still have the pipe open

    def __init__(self, fd: int, keeps_end: bool = False) -> None:
        self._fd = fd
        self._keeps_end = keeps_end
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while chunk := os.read(self._fd, 1 << 16):
            if self._keeps_end:
                self._kept += chunk
                del self._kept[:-OUTPUT_BYTES_MAX]
            else:
                self._kept += chunk[: max(0, LINES_BYTES_MAX - len(self._kept))]
        os.close(self._fd)

    def finish(self) -> str:
        self._thread.join(self.END_LIMIT_S)
        return bytes(self._kept).decode(errors="replace").strip()


def failure(verdict: str, stage: str, message: str) -> Report:
    end = message if len(message) <= MESSAGE_CHARACTERS else "..." + message[-MESSAGE_CHARACTERS:]
    return {"verdict": verdict, "stage": stage, "message": end, "score_ns": 0.0, "cases": []}
