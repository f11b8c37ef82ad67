"""How a job ended. The words of core/verdict.h and core/measurement.h; a test holds the tables together."""

from __future__ import annotations

from dataclasses import dataclass

from kq.records.text_enum import TextEnum


class Fault(TextEnum):
    """Whose doing an ending was. Only USER and POLICY are held against a submission."""

    NONE = "none"
    USER = "user"
    POLICY = "policy"
    PROBLEM = "problem"
    NOBODY = "nobody"
    OURS = "ours"


class Stage(TextEnum):
    """Where in a job's life it ended."""

    NONE = "none"
    QUEUE = "queue"
    GUARD = "guard"
    BUILD = "build"
    LOAD = "load"
    RUN = "run"
    JUDGE = "judge"


class VerdictName(TextEnum):
    """The names, each with whose fault it is: VerdictName.PASSED.fault."""

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


@dataclass(frozen=True)
class Statistics:
    samples_n: int = 0
    median_ns: float = 0
    mean_ns: float = 0
    std_ns: float = 0
    min_ns: float = 0
    max_ns: float = 0
    p95_ns: float = 0  # 0 below 20 samples
    p99_ns: float = 0  # 0 below 100 samples


@dataclass(frozen=True)
class Measurement:
    """The figures of a passed job, in nanoseconds."""

    method: str = ""
    submission: Statistics = Statistics()  # its median is the published time
    reference: Statistics = Statistics()  # the problem's own Model, same inputs, same clock
    overhead_ns: float = 0  # subtracted from every sample
    drift_ns: float = 0  # how far a trusted null call moved during the trials
    attested_ns: float = 0  # median by the judge's clock alone
    event_ns: float = 0  # median by the submission's own clock, a hint; 0 where there is none
    burst_ns: float = 0  # a call's share of several in one interval; 0 where none were made

    @property
    def speedup(self) -> float:
        """How much faster than the reference; 0 when either median is 0, as without timed trials."""
        if self.submission.median_ns <= 0 or self.reference.median_ns <= 0:
            return 0.0
        return self.reference.median_ns / self.submission.median_ns


@dataclass(frozen=True)
class Correctness:
    trials_passed: int = 0
    max_abs_err: float = 0
    max_rel_err: float = 0


@dataclass(frozen=True)
class Mismatch:
    """The first element that differs, and the worst errors seen."""

    trial: int = 0
    output: int = 0
    element: int = 0  # row-major index
    expected: float = 0
    got: float = 0
    max_abs_err: float = 0
    max_rel_err: float = 0
    mismatched: int = 0  # elements that differ, of `total`
    total: int = 0


@dataclass(frozen=True)
class Evidence:
    """What people are told about an ending. `message` may quote the kernel: untrusted text."""

    stage: Stage = Stage.NONE
    reason: str = ""
    message: str = ""
    hint: str = ""
    rule: str = ""
    place: str = ""
    mismatch: Mismatch | None = None


@dataclass(frozen=True)
class Verdict:
    """Only `passed` and `suspect` hold a measurement; only `passed` holds no evidence."""

    name: VerdictName = VerdictName.ABANDONED
    evidence: Evidence | None = None
    measurement: Measurement | None = None
    correctness: Correctness | None = None

    @property
    def fault(self) -> Fault:
        return self.name.fault
