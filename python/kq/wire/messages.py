"""The client's half of the wire protocol: core/messages.h. Described for people in docs/wire.md."""

from __future__ import annotations

from dataclasses import dataclass, field

from kq.records.hash import NO_HASH, Hash
from kq.records.jobs import DeviceInfo, JobState, LeaderboardRow, RunRow
from kq.records.submission import Backend, Submission
from kq.records.text_enum import TextEnum
from kq.wire.queue_messages import OPERATION_REPLIES, OPERATIONS, Operation, OperationReply

PROTOCOL_VERSION = 1


class Packing(TextEnum):
    """How the bytes of a blob travel."""

    RAW = "raw"
    ZSTD = "zstd"
    LZ4 = "lz4"  # of programs in C++


@dataclass(frozen=True)
class Blob:
    """The bytes of a file, named by their own SHA-256; the receiver checks the name."""

    hash: Hash = NO_HASH
    bytes: bytes = field(default_factory=bytes)  # a plain default would hide the type of the same name
    packing: Packing = Packing.RAW


# ---- client -> broker


@dataclass(frozen=True)
class SubmitBatch:
    run: str = ""
    jobs: list[Submission] = field(default_factory=list)
    blobs: list[Blob] = field(default_factory=list)
    submitter: str = ""  # whose share and quota they count against


@dataclass(frozen=True)
class StatusQuery:
    seqs: list[int] = field(default_factory=list)
    wait_ms: int = 0  # the answer may wait as long for one of them to be finished


@dataclass(frozen=True)
class RunQuery:
    run: str = ""
    after_label: bytes = b""
    limit: int = 0
    with_samples: bool = False


@dataclass(frozen=True)
class BoardQuery:
    after_key: bytes = b""
    limit: int = 0


@dataclass(frozen=True)
class BrokerQuery:
    pass


# ---- broker -> client


class Acceptance(TextEnum):
    ACCEPTED = "accepted"  # a new job
    REUSED = "reused"  # the same work is known: this is its job
    REFUSED = "refused"
    BUSY = "busy"  # a quota, the queue or the disk is full for now


@dataclass(frozen=True)
class JobAck:
    acceptance: Acceptance = Acceptance.REFUSED
    seq: int = 0  # 0 when refused or busy
    state: JobState = JobState.QUEUED
    reason: str = ""  # a sentence when refused or busy
    retry_after_ms: int = 0  # when busy


@dataclass(frozen=True)
class SubmitAck:
    jobs: list[JobAck] = field(default_factory=list)


class WaitReason(TextEnum):
    """Why a queued job does not run yet."""

    NONE = "none"
    BEHIND = "behind"
    NO_WORKER = "no_worker"
    NOT_BEFORE = "not_before"
    AFTER_FAILURE = "after_failure"
    PAUSED = "paused"
    DRAINING = "draining"


@dataclass(frozen=True)
class JobStatus:
    seq: int = 0
    state: JobState = JobState.QUEUED
    attempt: int = 0
    verdict: str = ""  # its name when finished
    served: bool = False  # while queued: a connected worker can run it
    why: WaitReason = WaitReason.NONE  # while queued
    position: int = 0  # among its submitter's jobs of the same priority and requirements, from 1
    ahead: int = 0  # jobs of anybody that the same workers could run and that rank at least as high
    until_ms: int = 0  # when it may run, Unix time


@dataclass(frozen=True)
class StatusReply:
    jobs: list[JobStatus] = field(default_factory=list)


@dataclass(frozen=True)
class RunReply:
    rows: list[RunRow] = field(default_factory=list)
    more: bool = False


@dataclass(frozen=True)
class BoardReply:
    rows: list[LeaderboardRow] = field(default_factory=list)
    last_key: bytes = b""
    more: bool = False


@dataclass(frozen=True)
class WorkerStatus:
    worker: str = ""
    devices: list[DeviceInfo] = field(default_factory=list)
    running: int = 0
    last_seen_ms: int = 0  # Unix time
    labels: list[str] = field(default_factory=list)
    draining: bool = False
    backends: list[Backend] = field(default_factory=list)  # none: all
    quarantined: list[str] = field(default_factory=list)  # devices it does not use any more: one sentence each
    builds_for: list[DeviceInfo] = field(default_factory=list)  # kinds and architectures, of one that only builds
    built_n: int = 0  # objects of its that were taken since it connected


@dataclass(frozen=True)
class BrokerReply:
    version: str = ""
    queued: int = 0
    leased: int = 0
    workers: list[WorkerStatus] = field(default_factory=list)


@dataclass(frozen=True)
class Refused:
    """The request as a whole was not understood or not allowed; nothing of it was done."""

    reason: str = ""


Request = SubmitBatch | StatusQuery | RunQuery | BoardQuery | BrokerQuery | Operation
Reply = SubmitAck | StatusReply | RunReply | BoardReply | BrokerReply | Refused | OperationReply
REQUESTS: tuple[type, ...] = (SubmitBatch, StatusQuery, RunQuery, BoardQuery, BrokerQuery, *OPERATIONS)
REPLIES: tuple[type, ...] = (SubmitAck, StatusReply, RunReply, BoardReply, BrokerReply, Refused, *OPERATION_REPLIES)
