"""Converts an evaluation into the result that KernelBench would report.

The Python twin of tools/kernelbench/outcome.cc.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kq.errors import InfraError
from kq.evaluation import Evaluation
from kq.records.jobs import DeviceInfo
from kq.records.verdict import Evidence, Stage, Statistics, VerdictName

# The key of the error message in KernelBench's metadata. The same key with the suffix _name holds the exception's name.
METADATA_KEYS = {
    VerdictName.SUSPECT: "other_error",
    VerdictName.WRONG_ANSWER: "correctness_issue",
    VerdictName.BUILD_FAILED: "compilation_error",
    VerdictName.LOAD_FAILED: "compilation_error",
    VerdictName.RUNTIME_ERROR: "runtime_error",
    VerdictName.CRASHED: "runtime_error",
    VerdictName.GPU_FAULT: "cuda_error",
    VerdictName.OUT_OF_MEMORY: "runtime_error",
    VerdictName.TIMED_OUT: "error",
    VerdictName.REJECTED: "error",
}
KEYS_WITHOUT_NAME = ("error",)


class KernelExecResult(dict[str, Any]):
    """KernelBench's result, as a dict whose items are also attributes.

    The items are compiled, correctness, metadata, runtime (in ms, -1 without a time), runtime_stats, ref_runtime and
    ref_runtime_stats. The attribute `evaluation` holds the whole Evaluation.
    """

    evaluation: Evaluation

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def result_of(evaluation: Evaluation) -> KernelExecResult:
    """Returns KernelBench's result of an evaluation.

    Raises InfraError if the evaluation says nothing about the kernel.
    """
    if evaluation.infra_error:
        raise InfraError(evaluation.infra_error)
    result = KernelExecResult(
        compiled=False,
        correctness=False,
        metadata={},
        runtime=-1.0,
        runtime_stats={},
        ref_runtime=-1.0,
        ref_runtime_stats={},
    )
    result.evaluation = evaluation
    if evaluation.bad_source:
        result["metadata"] = {"compilation_error": evaluation.bad_source, "compilation_error_name": "BadSource"}
    elif evaluation.row is not None and evaluation.row.result is not None:
        _fill(result, evaluation, evaluation.row.result.device)
    return result


# tools/kernelbench/outcome.cc has the same text.
BY_TRUTH = "outputs differ from the reference by more than the tolerance; kq passed them by the truth"


def score(result: Mapping[str, Any]) -> float:
    """Returns 0 if the kernel does not compile or is wrong, else 1 / (its time in seconds)."""
    if not result.get("compiled") or not result.get("correctness") or result.get("runtime", -1.0) <= 0:
        return 0.0
    return 1_000.0 / float(result["runtime"])


def _fill(result: KernelExecResult, evaluation: Evaluation, device: DeviceInfo) -> None:
    verdict = evaluation.verdict
    assert verdict is not None
    metadata: dict[str, Any] = {"hardware": device.model, "device": device.kind.value}
    if verdict.correctness is not None:
        trials = verdict.correctness.trials_passed
        metadata["correctness_trials"] = f"({trials} / {trials})"
    # KernelBench calls an output right if it is within the tolerance of the reference, whatever the truth is.
    is_correct = evaluation.passed and (verdict.correctness is None or verdict.correctness.truth is None)
    if evaluation.passed and not is_correct:
        metadata["correctness_issue"] = BY_TRUTH
    if verdict.evidence is not None:
        metadata |= _evidence_metadata(verdict.name, verdict.evidence)
    metadata |= {"kq_verdict": verdict.name.value, "kq_job_id": evaluation.seq}
    stage = verdict.evidence.stage if verdict.evidence else Stage.NONE
    result["compiled"] = verdict.name not in (VerdictName.BUILD_FAILED, VerdictName.LOAD_FAILED) and stage not in (
        Stage.GUARD,
        Stage.BUILD,
        Stage.QUEUE,
    )
    result["correctness"] = is_correct
    result["metadata"] = metadata
    if is_correct and verdict.measurement is not None and verdict.measurement.submission.samples_n > 0:
        result["runtime"] = verdict.measurement.submission.mean_ns / 1e6
        result["runtime_stats"] = _stats(verdict.measurement.submission, device)
        result["ref_runtime"] = verdict.measurement.reference.mean_ns / 1e6
        result["ref_runtime_stats"] = _stats(verdict.measurement.reference, device)


def _evidence_metadata(name: VerdictName, evidence: Evidence) -> dict[str, Any]:
    message = evidence.message
    if name is VerdictName.TIMED_OUT:
        message = "Evaluation timed out" + (f": {message}" if message else "")
    elif name is VerdictName.REJECTED:
        rule = f" ({evidence.rule})" if evidence.rule else ""
        place = f" at {evidence.place}" if evidence.place else ""
        message = f"rejected{rule}{place}: {message}"
    key = METADATA_KEYS.get(name, "other_error")
    metadata: dict[str, Any] = {key: message or name.value}
    if key not in KEYS_WITHOUT_NAME:
        metadata[f"{key}_name"] = _error_name(evidence.message, name)
    if evidence.hint:
        metadata["hint"] = evidence.hint
    if evidence.mismatch is not None and not evidence.mismatch.expected_form:
        metadata["max_difference"] = [f"{evidence.mismatch.max_abs_err:.6f}"]
    return metadata


def _error_name(message: str, name: VerdictName) -> str:
    """Returns the exception's name at the start of a message such as "RuntimeError: text", else the verdict."""
    first = message.split(":")[0].split("\n")[0].split(" ")[0].split("(")[0]
    return first if first.endswith(("Error", "Exception")) else name.value


def _stats(statistics: Statistics, device: DeviceInfo) -> dict[str, Any]:
    n = statistics.samples_n
    population_std_ns = statistics.std_ns * math.sqrt((n - 1) / n) if n > 0 else 0.0
    return {
        "mean": statistics.mean_ns / 1e6,
        "std": population_std_ns / 1e6,
        "min": statistics.min_ns / 1e6,
        "max": statistics.max_ns / 1e6,
        "num_trials": n,
        "hardware": device.model,
        "device": device.kind.value,
    }
