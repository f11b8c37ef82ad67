"""The verdict of a job and the figures that belong to it. The Python twin of core/verdict.h and core/measurement.h.

python/tests/test_house.py checks that the names in both languages agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from kq.records.text_enum import TextEnum


class Fault(TextEnum):
    """Who caused a verdict. Only USER and POLICY mean that the submission is at fault."""

    NONE = "none"
    USER = "user"
    POLICY = "policy"
    PROBLEM = "problem"
    NOBODY = "nobody"
    OURS = "ours"


class Stage(TextEnum):
    """The stage of evaluation at which a job ended."""

    NONE = "none"
    QUEUE = "queue"
    GUARD = "guard"
    BUILD = "build"
    LOAD = "load"
    RUN = "run"
    JUDGE = "judge"


# The reason of a suspect kernel whose problem gives the same inputs to every call; the kernel is not at fault.
SAME_INPUTS = "inputs"


class VerdictName(TextEnum):
    """The names of all verdicts, each with its fault, as in VerdictName.PASSED.fault."""

    fault: Fault

    def __new__(cls, name: str, fault: Fault) -> VerdictName:
        self = str.__new__(cls, name)
        self._value_ = name
        self.fault = fault
        return self

    PASSED = "passed", Fault.NONE
    SUSPECT = "suspect", Fault.POLICY
    COMPILED_ONLY = "compiled_only", Fault.NONE
    WRONG_ANSWER = "wrong_answer", Fault.USER
    BUILD_FAILED = "build_failed", Fault.USER
    LOAD_FAILED = "load_failed", Fault.USER
    RUNTIME_ERROR = "runtime_error", Fault.USER
    CRASHED = "crashed", Fault.USER
    GPU_FAULT = "gpu_fault", Fault.USER
    OUT_OF_MEMORY = "out_of_memory", Fault.USER
    TIMED_OUT = "timed_out", Fault.USER
    REJECTED = "rejected", Fault.POLICY
    PROBLEM_INVALID = "problem_invalid", Fault.PROBLEM
    TOO_LARGE = "too_large", Fault.NOBODY
    UNSUPPORTED_HERE = "unsupported_here", Fault.NOBODY
    CANCELLED = "cancelled", Fault.USER
    EXPIRED = "expired", Fault.NOBODY
    ABANDONED = "abandoned", Fault.OURS


ZERO_IF_NONE: Mapping[str, float] = {"absent": 0.0}  # metadata of a field whose None is 0 on the wire


@dataclass(frozen=True)
class Statistics:
    """Statistics of timed samples, in nanoseconds."""

    samples_n: int = 0
    median_ns: float = 0
    mean_ns: float = 0
    std_ns: float = 0
    min_ns: float = 0
    max_ns: float = 0
    p95_ns: float | None = field(default=None, metadata=ZERO_IF_NONE)  # None with fewer than 20 samples
    p99_ns: float | None = field(default=None, metadata=ZERO_IF_NONE)  # None with fewer than 100 samples


@dataclass(frozen=True)
class Measurement:
    """The times of a passed or suspect job, in nanoseconds."""

    method: str = ""
    submission: Statistics = Statistics()  # the submission's times; their median is the published time
    reference: Statistics = Statistics()  # times of the problem's own Model, on the same inputs by the same clock
    overhead_ns: float = 0  # the overhead that was subtracted from every sample
    drift_ns: float = 0  # how much the time of a trusted null call changed during the trials
    attested_ns: float = 0  # median of the judge's own clock alone
    event_ns: float = 0  # median of the submission's own clock, which is only a hint; 0 if there is none
    burst_ns: float = 0  # time per call when several calls were timed in one interval; 0 if that was not done
    noise_ns: float = 0  # three standard errors of the published time, at least 1 % of it; 0 if it is unknown
    reference_noise_ns: float = 0  # the same for the reference
    busy_tasks: float = 0  # tasks that ran on the machine beside the judge, in the mean; 0 if that is unknown
    is_noisy: bool = False  # the machine was busy, so that no processor was free for the calls

    @property
    def speedup(self) -> float:
        """The reference's median over the submission's median; 0 if either is 0, as without timed trials."""
        if self.submission.median_ns <= 0 or self.reference.median_ns <= 0:
            return 0.0
        return self.reference.median_ns / self.submission.median_ns

    @property
    def submission_noise(self) -> float:
        """The noise of the submission's time in ns: times that differ by less are equal. Infinite for one sample."""
        return _noise(self.noise_ns, self.submission)

    @property
    def reference_noise(self) -> float:
        """The noise of the reference's time in ns. Infinite for one sample."""
        return _noise(self.reference_noise_ns, self.reference)

    @property
    def speedup_noise(self) -> float:
        """The noise of the speedup: 1.3 with the noise 0.4 is no gain. Infinite if it is unknown."""
        if self.speedup <= 0:
            return math.inf
        ours = self.submission_noise / self.submission.median_ns
        theirs = self.reference_noise / self.reference.median_ns
        return self.speedup * math.hypot(ours, theirs)


def _noise(noise_ns: float, statistics: Statistics) -> float:
    if noise_ns > 0:
        return noise_ns
    if statistics.samples_n < 2:
        return math.inf
    # As in core/measurement.cc: the standard error of a median of normal samples.
    error = 1.2533 * statistics.std_ns / math.sqrt(statistics.samples_n)
    return max(3 * error, 0.01 * statistics.median_ns)


@dataclass(frozen=True)
class TruthErrors:
    """The errors of an output against the truth, which is the reference computed as exactly as can be had. The Python
    twin of TruthErrors in core/verdict.h. A relative RMS is the RMS of the errors divided by that of the truth.
    """

    kind: str = ""  # how the truth was computed; "none: " and why, if it could not be
    submission_max: float = 0
    submission_rms: float = 0
    reference_max: float = 0
    reference_rms: float = 0
    rounding_max: float = 0  # of the truth from inputs and parameters in the allowed precision; 0 if none is allowed
    rounding_rms: float = 0
    looks_like: str = ""  # the precision that submission_rms looks like


@dataclass(frozen=True)
class Correctness:
    """The result of the correctness trials."""

    trials_passed: int = 0
    max_abs_err: float = 0
    max_rel_err: float = 0
    rtol: float | None = None  # the tolerance in effect
    atol: float | None = None
    truth: TruthErrors | None = None  # None if all outputs were within the tolerance of the reference


@dataclass(frozen=True)
class Mismatch:
    """The first element that differs from the expected output, the largest errors, and the worst element. For an output
    of another shape or dtype only its place, the two forms and `looks_like` are set.
    """

    trial: int = 0
    output: int = 0
    element: int = 0  # row-major index
    expected: float = 0
    got: float = 0
    max_abs_err: float = 0
    max_rel_err: float = 0
    mismatched: int = 0  # the number of elements that differ, out of `total`
    total: int = 0
    worst_place: str = ""  # its indices: "[3, 17]"
    worst_expected: float = 0
    worst_got: float = 0
    worst_error: float = 0
    worst_allowed: float = 0
    rtol: float = 0  # the tolerance in effect
    atol: float = 0
    not_finite: int = 0  # elements that are NaN or infinite although the expected ones are finite
    looks_like: str = ""
    expected_form: str = ""
    got_form: str = ""


@dataclass(frozen=True)
class Evidence:
    """The explanation of a verdict. `message` may quote the kernel and is untrusted text."""

    stage: Stage = Stage.NONE
    reason: str = ""
    message: str = ""
    hint: str = ""
    rule: str = ""
    place: str = ""
    mismatch: Mismatch | None = None
    truth: TruthErrors | None = None
    unmatched: str = ""  # parameters and buffers without a partner of equal name and shape


@dataclass(frozen=True)
class Verdict:
    """How a job ended. Only `passed` and `suspect` have a measurement; only `passed` has no evidence."""

    name: VerdictName = VerdictName.ABANDONED
    evidence: Evidence | None = None
    measurement: Measurement | None = None
    correctness: Correctness | None = None

    @property
    def fault(self) -> Fault:
        if self.name is VerdictName.SUSPECT and self.evidence is not None and self.evidence.reason == SAME_INPUTS:
            return Fault.PROBLEM
        return self.name.fault
