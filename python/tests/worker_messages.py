"""The messages between a worker and the broker, for tests: the fake worker sends them and golden files hold them."""

from __future__ import annotations

from dataclasses import dataclass, field

from kq.records.hash import NO_HASH, Hash
from kq.records.jobs import DeviceInfo, DeviceKind, Result
from kq.records.submission import Backend, Submission
from kq.wire.messages import Blob, Refused


@dataclass(frozen=True)
class Hello:
    worker: str = ""
    epoch: int = 0
    devices: list[DeviceInfo] = field(default_factory=list)
    credit: int = 0
    evaluator: str = ""
    labels: list[str] = field(default_factory=list)
    backends: list[Backend] = field(default_factory=list)
    quarantined: list[str] = field(default_factory=list)
    builds_for: list[DeviceInfo] = field(default_factory=list)


@dataclass(frozen=True)
class LeaseId:
    seq: int = 0
    attempt: int = 0


@dataclass(frozen=True)
class BuildInProgress:
    lease: LeaseId = LeaseId()
    ms: int = 0
    extensions: bool = False


@dataclass(frozen=True)
class Heartbeat:
    epoch: int = 0
    leases: list[LeaseId] = field(default_factory=list)
    builds: list[BuildInProgress] = field(default_factory=list)
    early: bool = False


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
class BuildObject:
    kind: DeviceKind = DeviceKind.CUDA
    arch: str = ""
    key: Hash = NO_HASH
    hash: Hash = NO_HASH
    bytes: bytes = field(default_factory=bytes)  # a plain default would hide the type of the same name


@dataclass(frozen=True)
class BuildResult:
    epoch: int = 0
    build: LeaseId = LeaseId()
    object: BuildObject | None = None
    message: str = ""


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
    object: BuildObject | None = None


@dataclass(frozen=True)
class LeaseBatch:
    epoch: int = 0
    leases: list[Lease] = field(default_factory=list)


@dataclass(frozen=True)
class BuildBatch:
    epoch: int = 0
    builds: list[Lease] = field(default_factory=list)


@dataclass(frozen=True)
class ResultAck:
    leases: list[LeaseId] = field(default_factory=list)


@dataclass(frozen=True)
class Revoke:
    leases: list[LeaseId] = field(default_factory=list)


@dataclass(frozen=True)
class Unknown:
    pass


REQUESTS = (Hello, Heartbeat, ResultBatch, Goodbye, BuildResult)
REPLIES = (Welcome, LeaseBatch, ResultAck, Unknown, Refused, Revoke, BuildBatch)
