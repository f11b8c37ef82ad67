"""A result as one flat record with every column of kq-dump. The Python twin of tools/table/columns.cc.

A column is None if its value is unknown or does not exist, such as the verdict of a job that is not finished or the
times of a kernel that was not timed. A test checks that both languages have the same columns and values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from kq.records.jobs import (
    Conditions,
    DeviceKind,
    Extensions,
    GpuProcess,
    KernelsRan,
    Profile,
    Result,
    RunRow,
    speedup_text,
)
from kq.records.submission import Backend, Workload
from kq.records.verdict import (
    Correctness,
    Evidence,
    Measurement,
    Mismatch,
    Statistics,
    TruthErrors,
    VerdictName,
)

SCHEMA = "kq.result/1"
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, repr=False)
class Row:
    """One row with all columns. `kq-dump --schema` prints what each column means."""

    # identity
    schema: str | None = SCHEMA
    job_id: int | None = None
    run: str | None = None
    label: str | None = None
    problem: str | None = None
    problem_hash: str | None = None
    kernel_file: str | None = None
    kernel_hash: str | None = None
    files_n: int | None = None
    author: str | None = None
    tags: str | None = None
    idempotency_key: str | None = None
    # job
    backend: str | None = None
    precision: str | None = None
    device_wish: str | None = None
    gpu_model_wish: str | None = None
    submitted_at: datetime | None = None
    leased_at: datetime | None = None
    finished_at: datetime | None = None
    attempt: int | None = None
    retries: int | None = None
    last_error: str | None = None
    # verdict
    state: str | None = None
    verdict: str | None = None
    fault: str | None = None
    stage: str | None = None
    reason: str | None = None
    rule: str | None = None
    place: str | None = None
    message: str | None = None
    hint: str | None = None
    # correctness
    rtol: float | None = None
    atol: float | None = None
    correctness_n: int | None = None
    warmup_n: int | None = None
    timed_n: int | None = None
    trials_passed: int | None = None
    max_abs_err: float | None = None
    max_rel_err: float | None = None
    mismatch_n: int | None = None
    mismatch_total_n: int | None = None
    mismatch_trial: int | None = None
    mismatch_output: int | None = None
    mismatch_element: int | None = None
    mismatch_expected: float | None = None
    mismatch_got: float | None = None
    # timing
    method: str | None = None
    samples_n: int | None = None
    median_us: float | None = None
    mean_us: float | None = None
    std_us: float | None = None
    min_us: float | None = None
    max_us: float | None = None
    p95_us: float | None = None
    p99_us: float | None = None
    attested_us: float | None = None
    event_us: float | None = None
    burst_us: float | None = None
    overhead_us: float | None = None
    drift_us: float | None = None
    # reference
    reference_samples_n: int | None = None
    reference_us: float | None = None
    reference_std_us: float | None = None
    speedup: float | None = None
    # build and run
    build_s: float | None = None
    build_cached: bool | None = None
    run_s: float | None = None
    # device, host, software, sandbox
    device: str | None = None
    device_model: str | None = None
    device_uuid: str | None = None
    device_arch: str | None = None
    device_memory_bytes: int | None = None
    worker: str | None = None
    kq_version: str | None = None
    python: str | None = None
    torch: str | None = None
    triton: str | None = None
    cuda: str | None = None
    sandbox: str | None = None
    tier: int | None = None
    # later columns, in the order in which they were added
    build_compiler: str | None = None
    build_flags: str | None = None
    submitter: str | None = None
    priority: str | None = None
    not_before: datetime | None = None
    deadline: datetime | None = None
    require: str | None = None
    queue_s: float | None = None
    noise_pct: float | None = None
    reference_mean_us: float | None = None
    reference_min_us: float | None = None
    reference_max_us: float | None = None
    speedup_mean: float | None = None
    hostname: str | None = None
    cpu_model: str | None = None
    cpu_cores: int | None = None
    cpu_governor: str | None = None
    os_kernel: str | None = None
    distro: str | None = None
    libc: str | None = None
    driver: str | None = None
    container: str | None = None
    scheduler: str | None = None
    scheduler_job_id: str | None = None
    evaluator: str | None = None
    packages_hash: str | None = None
    time_limit_s: float | None = None
    trials_s: float | None = None
    sm_clock_mhz: int | None = None
    mem_clock_mhz: int | None = None
    temp_c: int | None = None
    power_w: float | None = None
    throttle: str | None = None
    other_procs_on_gpu: str | None = None
    baseline: str | None = None
    profile: str | None = None
    profile_dir: str | None = None
    profile_message: str | None = None
    profile_s: float | None = None
    need_extensions: bool | None = None
    extensions: str | None = None
    extension_errors: str | None = None
    fell_back: bool | None = None
    cases: str | None = None
    workloads: str | None = None
    mismatch_place: str | None = None
    worst_expected: float | None = None
    worst_got: float | None = None
    worst_err: float | None = None
    worst_allowed: float | None = None
    not_finite_count: int | None = None
    looks_like: str | None = None
    expected_form: str | None = None
    got_form: str | None = None
    unmatched_weights: str | None = None
    passed_by: str | None = None
    truth_kind: str | None = None
    truth_max_err: float | None = None
    truth_rms_err: float | None = None
    reference_truth_max_err: float | None = None
    reference_truth_rms_err: float | None = None
    rounding_max_err: float | None = None
    rounding_rms_err: float | None = None
    precision_like: str | None = None
    truth: bool | None = None
    truth_rms: float | None = None
    truth_max: float | None = None
    allow_precision: str | None = None
    problem_warnings: str | None = None
    streams: str | None = None
    graphs: str | None = None
    own_share: float | None = None
    decoy: bool | None = None
    kernels: str | None = None
    findings: str | None = None
    noise_us: float | None = None
    reference_noise_us: float | None = None
    speedup_noise: float | None = None
    busy_tasks: float | None = None
    noisy: bool | None = None

    def __repr__(self) -> str:
        """One line: the names, the verdict, and the speedup. dataclasses.asdict() gives every column."""
        told = "" if self.speedup is None else f", {speedup_text(self.speedup)}"
        return f"<Row {self.label!r} of run {self.run!r}, job {self.job_id}: {self.verdict or self.state}{told}>"

    @classmethod
    def of(cls, row: RunRow) -> Row:
        """Returns the flat record of a row."""
        columns = _of_job(row)
        if row.result is not None:
            columns |= _of_result(row.result, row.entry.submission.backend)
        return cls(**{name: value for name, value in columns.items() if _is_known(value)})


def _is_known(value: Any) -> bool:
    """Returns whether a value of a record is one: an empty text, NaN and an infinity are not, as in kq-dump."""
    return math.isfinite(value) if isinstance(value, float) else value != ""


def time_of(unix_ms: int) -> datetime | None:
    """Returns the UTC time of Unix milliseconds, or None for 0, which means that it has not happened yet."""
    return EPOCH + timedelta(milliseconds=unix_ms) if unix_ms > 0 else None


def _submitter_behind(name: str, run: str) -> str:
    """Returns the submitter USER@HOST of a sweep's USER@HOST/RUN. The Python twin of core/base/own_share.h."""
    own = name.removesuffix(f"/{run}")
    return own if "@" in own else name


def _of_job(row: RunRow) -> dict[str, Any]:
    job, submission = row.job, row.entry.submission
    problem, trials = submission.problem, submission.trials
    entry = submission.files[0] if submission.files else None
    return {
        "job_id": job.seq,
        "run": row.run,
        "label": submission.label,
        "problem": problem.name,
        "problem_hash": str(problem.hash),
        "kernel_file": entry.name if entry else None,
        "kernel_hash": str(entry.hash) if entry else None,
        "files_n": len(submission.files),
        "author": submission.author,
        "tags": _joined(f"{name}={value}" for name, value in _sorted(submission.tags)),
        "idempotency_key": str(job.key),
        "backend": submission.backend.value,
        "precision": problem.precision.value,
        "device_wish": submission.device.value,
        "gpu_model_wish": submission.gpu_model,
        "submitted_at": time_of(job.submitted_at_ms),
        "leased_at": time_of(job.leased_at_ms),
        "finished_at": time_of(job.finished_at_ms),
        "attempt": job.attempt,
        "retries": job.failures,
        "last_error": job.last_error,
        "state": job.state.value,
        "rtol": problem.rtol,
        "atol": problem.atol,
        "correctness_n": trials.correctness,
        "warmup_n": trials.warmup,
        "timed_n": trials.timed,
        "baseline": trials.baseline.value,
        "profile": trials.profile.value,
        "need_extensions": trials.need_extensions,
        "streams": trials.streams.value,
        "graphs": trials.graphs.value,
        "workloads": None if problem.workloads == [Workload()] else ",".join(one.name for one in problem.workloads),
        "truth": submission.truth.used,
        "truth_rms": submission.truth.rms,
        "truth_max": submission.truth.max,
        "allow_precision": submission.truth.allow_precision.value,
        "submitter": _submitter_behind(row.entry.submitter or job.submitter, row.run),
        "priority": submission.priority.value,
        "not_before": time_of(submission.not_before_ms),
        "deadline": time_of(submission.deadline_ms),
        "require": _joined(submission.labels),
        "time_limit_s": submission.time_limit_ms / 1e3 or None,
        "queue_s": (job.leased_at_ms - job.submitted_at_ms) / 1e3 if job.leased_at_ms > 0 else None,
    }


def _of_result(result: Result, backend: Backend) -> dict[str, Any]:
    verdict, software = result.verdict, result.software
    columns: dict[str, Any] = {
        "verdict": verdict.name.value,
        "fault": verdict.fault.value,
        "build_s": result.times.build_ms / 1e3,
        "build_cached": result.times.build_cached,
        "run_s": result.times.run_ms / 1e3,
        "trials_s": result.times.trials_us / 1e6 or None,
        "worker": result.worker,
        "kq_version": software.kq,
        "python": software.python,
        "torch": software.torch,
        "triton": software.triton,
        "cuda": software.cuda,
        "sandbox": result.sandbox,
        "build_compiler": result.toolchain.compiler,
        "build_flags": result.toolchain.flags,
        "hostname": result.host.name,
        "cpu_model": result.host.cpu,
        "cpu_cores": result.host.cores or None,
        "cpu_governor": result.host.governor,
        "os_kernel": result.host.kernel,
        "distro": result.host.distro,
        "libc": result.host.libc,
        "driver": result.host.driver,
        "container": result.host.container,
        "scheduler": result.host.scheduler,
        "scheduler_job_id": result.host.scheduled_as,
        "evaluator": software.evaluator,
        "packages_hash": software.packages,
    }
    if result.sandbox:  # a sandbox with layers means that the kernel ran
        columns["tier"] = 0 if backend is Backend.CUDA and result.device.kind is DeviceKind.CUDA else 2
    if result.device.model:  # without a model the job ended before it reached a device
        device = result.device
        columns |= {
            "device": device.kind.value,
            "device_model": device.model,
            "device_uuid": device.uuid,
            "device_arch": device.arch,
            "device_memory_bytes": device.memory_bytes or None,
        }
    if result.conditions is not None:
        columns |= _of_conditions(result.conditions)
    if result.profile is not None:
        columns |= _of_profile(result.profile)
    if result.cases:
        passed = sum(one.verdict.name is VerdictName.PASSED for one in result.cases)
        columns["cases"] = f"{passed} of {len(result.cases)}"
    columns["problem_warnings"] = "; ".join(warning.message for warning in result.problem_warnings)
    columns["findings"] = "; ".join(f"{one.rule} at {one.place}" for one in result.findings)
    if result.extensions is not None:
        columns |= _of_extensions(result.extensions)
    if result.kernels_ran is not None:
        columns |= _of_kernels(result.kernels_ran)
    if verdict.evidence is not None:
        columns |= _of_evidence(verdict.evidence)
    if verdict.correctness is not None:
        columns |= _of_correctness(verdict.correctness)
    if verdict.measurement is not None:
        columns |= _of_measurement(verdict.measurement)
    return columns


def _of_conditions(conditions: Conditions) -> dict[str, Any]:
    return {
        "sm_clock_mhz": conditions.sm_clock_mhz or None,
        "mem_clock_mhz": conditions.memory_clock_mhz or None,
        "temp_c": conditions.temperature_c or None,
        "power_w": conditions.power_w or None,
        "throttle": conditions.throttle,
        "other_procs_on_gpu": _of_processes(conditions.foreign) if conditions.foreign is not None else None,
    }


def _of_profile(profile: Profile) -> dict[str, Any]:
    return {
        "profile_dir": profile.directory,
        "profile_message": profile.message,
        "profile_s": profile.ms / 1000 or None,
    }


def _of_extensions(extensions: Extensions) -> dict[str, Any]:
    return {
        "extensions": f"{extensions.compiled} of {extensions.calls}",
        "extension_errors": "; ".join(f"{one.name}: {one.error}" for one in extensions.failed),
        "fell_back": extensions.fell_back,
    }


def _of_kernels(ran: KernelsRan) -> dict[str, Any]:
    kernels = [{"name": one.name, "owner": one.owner.value, "count": one.count, "ns": one.ns} for one in ran.kernels]
    return {
        "own_share": ran.own_share,
        "decoy": ran.decoy,
        "kernels": json.dumps(kernels, ensure_ascii=False) if kernels else None,
    }


def _of_processes(processes: list[GpuProcess]) -> str:
    return _joined(f"{one.pid}:{one.memory_mib}" if one.memory_mib else str(one.pid) for one in processes) or "none"


def _of_evidence(evidence: Evidence) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "stage": evidence.stage.value,
        "reason": evidence.reason,
        "rule": evidence.rule,
        "place": evidence.place,
        "message": evidence.message,
        "hint": evidence.hint,
    }
    columns["unmatched_weights"] = evidence.unmatched
    if evidence.truth is not None:
        columns |= _of_truth(evidence.truth)
    return columns | (_of_mismatch(evidence.mismatch) if evidence.mismatch is not None else {})


def _of_mismatch(mismatch: Mismatch) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "mismatch_trial": mismatch.trial,
        "mismatch_output": mismatch.output,
        "mismatch_place": mismatch.worst_place,
        "looks_like": mismatch.looks_like,
        "expected_form": mismatch.expected_form,
        "got_form": mismatch.got_form,
    }
    if mismatch.total > 0:  # an output of another form has no elements to compare
        columns |= {
            "max_abs_err": mismatch.max_abs_err,
            "max_rel_err": mismatch.max_rel_err,
            "mismatch_n": mismatch.mismatched,
            "mismatch_total_n": mismatch.total,
            "mismatch_element": mismatch.element,
            "mismatch_expected": mismatch.expected,
            "mismatch_got": mismatch.got,
            "worst_expected": mismatch.worst_expected,
            "worst_got": mismatch.worst_got,
            "worst_err": mismatch.worst_error,
            "worst_allowed": mismatch.worst_allowed,
            "not_finite_count": mismatch.not_finite,
        }
    if mismatch.worst_place:  # a result of an earlier version has neither this place nor the tolerance
        columns |= {"rtol": mismatch.rtol, "atol": mismatch.atol}
    return columns


def _of_truth(truth: TruthErrors) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "truth_kind": truth.kind,
        "rounding_max_err": truth.rounding_max or None,
        "rounding_rms_err": truth.rounding_rms or None,
    }
    if not truth.kind.startswith("none"):
        columns |= {
            "truth_max_err": truth.submission_max,
            "truth_rms_err": truth.submission_rms,
            "reference_truth_max_err": truth.reference_max,
            "reference_truth_rms_err": truth.reference_rms,
            "precision_like": truth.looks_like,
        }
    return columns


def _of_correctness(correctness: Correctness) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "trials_passed": correctness.trials_passed,
        "max_abs_err": correctness.max_abs_err,
        "max_rel_err": correctness.max_rel_err,
        "passed_by": "reference" if correctness.truth is None else "truth",
    }
    for name in ("rtol", "atol"):
        if (value := getattr(correctness, name)) is not None:
            columns[name] = value
    return columns | (_of_truth(correctness.truth) if correctness.truth is not None else {})


def _of_measurement(measured: Measurement) -> dict[str, Any]:
    ours, theirs = measured.submission, measured.reference
    columns: dict[str, Any] = {
        "method": measured.method,
        "samples_n": ours.samples_n,
        "reference_samples_n": theirs.samples_n,
        "speedup": measured.speedup or None,
        "speedup_mean": theirs.mean_ns / ours.mean_ns if ours.mean_ns > 0 and theirs.mean_ns > 0 else None,
    }
    if ours.samples_n > 0:  # without samples the columns stay None instead of 0
        columns |= {f"{name}_us": getattr(ours, f"{name}_ns") / 1e3 for name in ("median", "mean", "std", "min", "max")}
        clocks = {name: getattr(measured, f"{name}_ns") for name in ("attested", "event", "burst", "overhead", "drift")}
        columns |= {f"{name}_us": ns / 1e3 for name, ns in clocks.items() if ns != 0}
    columns |= {f"p{n}_us": _positive_us(ours, n) for n in (95, 99)}
    columns |= _of_noise(measured)
    if ours.samples_n > 1 and ours.mean_ns > 0:
        columns["noise_pct"] = 100 * ours.std_ns / ours.mean_ns
    if theirs.samples_n > 0:
        columns["reference_us"] = theirs.median_ns / 1e3
        columns |= {
            f"reference_{name}_us": getattr(theirs, f"{name}_ns") / 1e3 for name in ("mean", "std", "min", "max")
        }
    return columns


def _of_noise(measured: Measurement) -> dict[str, Any]:
    known = {
        "noise_us": measured.submission_noise / 1e3,
        "reference_noise_us": measured.reference_noise / 1e3,
        "speedup_noise": measured.speedup_noise,
    }
    if measured.submission.samples_n == 0:
        known = {}
    finite = {name: value for name, value in known.items() if math.isfinite(value)}
    return finite | {"busy_tasks": measured.busy_tasks or None, "noisy": measured.is_noisy}


def _positive_us(statistics: Statistics, percent: int) -> float | None:
    ns: float | None = getattr(statistics, f"p{percent}_ns")
    return None if ns is None else ns / 1e3


def _joined(words: Iterable[str]) -> str:
    return ";".join(words)


def _sorted(tags: dict[str, str]) -> list[tuple[str, str]]:
    return sorted(tags.items(), key=lambda tag: tag[0].encode(errors="replace"))
