"""Judges kernels of operators by the calls of a suite, and returns what BackendBench's evaluation returns."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from kq.backendbench import record
from kq.backendbench.suite import Call, calls_of, folder_name, op_name
from kq.client import Client
from kq.errors import BadInput, BadSource, InfraError
from kq.evaluation import Evaluation
from kq.evaluator import devices_text, placement_of
from kq.records.submission import Problem, SourceFile, Submission, Trials, TruthRule
from kq.records.verdict import Fault, VerdictName

GPUS = {"T4": "T4", "L4": "L4", "A100-80GB": "A100", "A100": "A100", "H100!": "H100", "H100": "H100"}
GPUS |= {"H200": "H200", "B200": "B200"}
LOCAL = "local"
USES_STREAM = "Skipped: uses CUDA stream"
NS_PER_MS = 1e6


@dataclass
class OperatorResult:
    """The tests of one operator, with the scores and the records of BackendBench's eval_one_op()."""

    op: str
    correctness_results: list[dict[str, Any]] = field(default_factory=list)
    performance_results: list[dict[str, Any]] = field(default_factory=list)
    infra_errors: list[str] = field(default_factory=list)  # of calls that say nothing about the kernel
    invalid: list[str] = field(default_factory=list)  # of calls whose reference fails

    @property
    def correctness_score(self) -> float:
        """The share of correctness tests that passed; 0 without tests."""
        right = sum(one["is_correct"] for one in self.correctness_results)
        return right / len(self.correctness_results) if self.correctness_results else 0.0

    def speedup(self, strict: bool = False) -> float | None:
        """The geometric mean of the speedups of successful tests; a strict one counts a failed test as 1."""
        speedups = [one["speedup"] for one in self.performance_results if one["successfully_ran"]]
        if strict:
            speedups += [1.0] * sum(not one["successfully_ran"] for one in self.performance_results)
        return math.exp(sum(map(math.log, speedups)) / len(speedups)) if speedups else None

    @property
    def is_correct(self) -> bool:
        return all(one["is_correct"] for one in self.correctness_results)


@dataclass
class SuiteResult:
    """The results of all operators, with the scores of BackendBench's runs."""

    operators: dict[str, OperatorResult]
    strict: bool = False

    @property
    def correctness(self) -> float:
        """The share of operators all of whose tests passed; NaN without operators."""
        return _mean([float(one.is_correct) for one in self.operators.values()])

    @property
    def performance(self) -> float:
        """The geometric mean of the operators' speedups; NaN without any."""
        speedups = [one.speedup(self.strict) for one in self.operators.values()]
        known = [speedup for speedup in speedups if speedup is not None]
        return math.exp(_mean(list(map(math.log, known)))) if known else math.nan

    def perf_at_p(self, p: float = 1.0) -> float:
        """The share of operators that are right and have a speedup above p."""
        speedups = [(one.is_correct, one.speedup(self.strict)) for one in self.operators.values()]
        return _mean([float(right and speedup is not None and speedup > p) for right, speedup in speedups])


def eval_code(
    suite: str,
    ops: Sequence[str] | None,
    code: Mapping[str, str | Path] | str,
    *,
    client: Client | None = None,
    gpu: str | None = None,
    trace: str | Path | None = None,
    topn: int | None = None,
    strict: bool = False,
    run: str = "backendbench",
    timeout: float | None = 3_600.0,
) -> SuiteResult:
    """Judges kernels by the calls of a suite, each call in a job of its own.

    `code` is the text or the Path of the kernel of each operator, {"relu.default": "def relu__default_kernel_impl..."},
    or one text, if `ops` names one operator. `gpu` is T4, L4, A100, H100, H200 or B200, a label or a word of a GPU's
    name, or "local": a GPU if a worker has one, else a CPU. `strict` takes BackendBench's tolerance and scores.
    Raises BadInput for what is wrong in the arguments, and InfraError if no worker has the GPU.
    """
    if isinstance(code, str):
        if ops is None or len(ops) != 1:
            raise BadInput("one text of code needs one operator in ops, such as ['relu.default']")
        code = {ops[0]: code}
    kernels = {op_name(op): kernel for op, kernel in code.items()}
    calls = {_label(call): call for call in calls_of(suite, ops, trace, topn) if call.op in kernels}
    results = {call.op: OperatorResult(call.op) for call in calls.values()}
    own = client or Client()
    try:
        where = _placement(own, gpu)
        submissions = []
        for label, call in calls.items():
            try:
                submissions.append(_submission(label, call, kernels[call.op], strict, where))
            except BadSource as error:
                _add(results[call.op], call, Evaluation(run, label, bad_source=str(error)))
        for one in own.submit_many(run, submissions).as_completed(timeout):
            call = calls[one.label]
            _add(results[call.op], call, one)
    finally:
        if client is None:
            own.close()
    for result in results.values():
        result.correctness_results.sort(key=lambda record: str(record["args"]))
        result.performance_results.sort(key=lambda record: str(record["args"]))
    return SuiteResult(results, strict)


def _label(call: Call) -> str:
    return f"{call.op}/{call.uuid[:8]}"


def _placement(client: Client, gpu: str | None) -> dict[str, Any]:
    if gpu is None or gpu == LOCAL:
        return {}
    where = placement_of(GPUS.get(gpu, gpu), client.status())
    if where is None:
        raise InfraError(f"no worker has the GPU or label {gpu!r}; {devices_text(client.status())}")
    return where


def _submission(label: str, call: Call, kernel: str | Path, strict: bool, where: dict[str, Any]) -> Submission:
    folder = folder_name(call.op)
    text = kernel.read_text() if isinstance(kernel, Path) else kernel
    name = f"{folder}_implementation"
    contract = json.dumps({"function_name": f"{folder}_kernel_impl", "takes_named": True})
    return Submission.of(
        [SourceFile.of(f"{name}.py", text), SourceFile.of(f"{name}.json", contract)],
        label=label,
        problem=Problem.of(problem_text(call, strict), label, "call.py"),
        tags={"suite": "eval_code", "op": call.op, "test": call.test},
        trials=Trials(timed=20 if call.is_timed else 0),
        truth=TruthRule(used=not strict),
        **where,
    )


def problem_text(call: Call, strict: bool) -> str:
    """Returns the program of the problem that is this call."""
    positional, named = record.parse(call.args)
    given = {"op": call.op, "positional": positional, "named": named, "strict": strict}
    program = files("kq.backendbench").joinpath("op_problem.py").read_text(encoding="utf-8")
    return f"CALL = {json.dumps(json.dumps(given))}\n{program}"


def _add(result: OperatorResult, call: Call, one: Evaluation) -> None:
    """Adds the records of one call, or why there are none."""
    verdict = one.verdict
    if verdict is not None and verdict.fault is Fault.PROBLEM:
        result.invalid.append(f"{call.args}: {verdict.evidence.message if verdict.evidence else verdict.name}")
        return
    is_right = verdict is not None and verdict.correctness is not None
    if not is_right and not one.is_held_against_it:
        result.infra_errors.append(one.infra_error or f"{one.label}: there is no verdict")
        return
    evidence = verdict.evidence if verdict else None
    uses_stream = verdict is not None and verdict.name is VerdictName.REJECTED and evidence is not None
    uses_stream = uses_stream and evidence is not None and evidence.reason == "stream"
    error = one.bad_source or (evidence.message if evidence else "")
    error = USES_STREAM if uses_stream else error
    if call.test != "performance":
        result.correctness_results.append(_correctness(call, one, is_right, "" if is_right else error))
    if call.test != "correctness":
        result.performance_results.append(_performance(call, one, uses_stream, error))


def _correctness(call: Call, one: Evaluation, is_right: bool, error: str) -> dict[str, Any]:
    verdict = one.verdict
    found = (verdict.correctness or (verdict.evidence and verdict.evidence.mismatch)) if verdict else None
    return {
        "op_name": call.op,
        "args": call.args,
        "is_correct": is_right,
        "error_msg": error,
        "error_type": "" if is_right or verdict is None else str(verdict.name),
        "traceback": "",
        "max_abs_error": found.max_abs_err if found else None,
        "max_rel_error": found.max_rel_err if found else None,
        "test_type": "correctness",
    }


def _performance(call: Call, one: Evaluation, uses_stream: bool, error: str) -> dict[str, Any]:
    measured = one.verdict.measurement if one.verdict is not None and one.passed else None
    return {
        "op_name": call.op,
        "args": call.args,
        "speedup": measured.speedup if measured else 0.0 if uses_stream else None,
        "benchmark_time_ms": measured.submission.median_ns / NS_PER_MS if measured else None,
        "reference_time_ms": measured.reference.median_ns / NS_PER_MS if measured else None,
        "error_msg": "" if measured else error,
        "successfully_ran": measured is not None,
        "test_type": "performance",
    }


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan
