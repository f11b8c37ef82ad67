"""The worker's half of the protocol, for the tests: core/messages.h, and what golden bytes hold beside it."""

from __future__ import annotations

from dataclasses import dataclass, field

from kq.messages import Blob, Refused
from kq.records import DeviceInfo, Result, Samples
from kq.submission import Backend, Submission, Trials
from kq.verdict import Verdict


@dataclass(frozen=True)
class Hello:
    worker: str = ""
    epoch: int = 0
    devices: list[DeviceInfo] = field(default_factory=list)
    credit: int = 0
    evaluator: str = ""


@dataclass(frozen=True)
class LeaseId:
    seq: int = 0
    attempt: int = 0


@dataclass(frozen=True)
class Heartbeat:
    epoch: int = 0
    leases: list[LeaseId] = field(default_factory=list)


@dataclass(frozen=True)
class AttemptResult:
    lease: LeaseId = LeaseId()
    result: Result = field(default_factory=Result)


@dataclass(frozen=True)
class AttemptError:
    lease: LeaseId = LeaseId()
    message: str = ""


@dataclass(frozen=True)
class ResultBatch:
    epoch: int = 0
    results: list[AttemptResult] = field(default_factory=list)
    errors: list[AttemptError] = field(default_factory=list)


@dataclass(frozen=True)
class Goodbye:
    epoch: int = 0


@dataclass(frozen=True)
class Welcome:
    heartbeat_ms: int = 0
    lease_ms: int = 0


@dataclass(frozen=True)
class Lease:
    id: LeaseId = LeaseId()
    run: str = ""
    submission: Submission = field(default_factory=Submission)
    blobs: list[Blob] = field(default_factory=list)
    device: DeviceInfo = field(default_factory=DeviceInfo)


@dataclass(frozen=True)
class LeaseBatch:
    epoch: int = 0
    leases: list[Lease] = field(default_factory=list)


@dataclass(frozen=True)
class ResultAck:
    leases: list[LeaseId] = field(default_factory=list)


@dataclass(frozen=True)
class Unknown:
    pass


REQUESTS = (Hello, Heartbeat, ResultBatch, Goodbye)
REPLIES = (Welcome, LeaseBatch, ResultAck, Unknown, Refused)


# ---- what the worker's own processes say to each other: core/plan.h


@dataclass(frozen=True)
class Limits:
    load_limit_ms: int = 0
    call_limit_ms: int = 0
    call_limit_factor: float = 0
    window_bytes_max: int = 0
    host_bytes_max: int = 0


@dataclass(frozen=True)
class Plan:
    id: int = 0
    fresh_reference: bool = True
    backend: Backend = Backend.TORCH
    trials: Trials = Trials()
    rtol: float | None = None
    atol: float | None = None
    limits: Limits = Limits()


@dataclass(frozen=True)
class ChildExited:
    role: str = ""
    wait_status: int = 0


@dataclass(frozen=True)
class Report:
    id: int = 0
    verdict: Verdict | None = None
    samples: Samples = field(default_factory=Samples)
    error: str = ""
    reference_usable: bool = False


@dataclass(frozen=True)
class JudgeReady:
    device: DeviceInfo = field(default_factory=DeviceInfo)


JUDGE_REQUESTS = (Plan, ChildExited)
JUDGE_REPLIES = (JudgeReady, Report)
