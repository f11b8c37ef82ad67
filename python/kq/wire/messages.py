"""The messages between a client and the broker.

The Python twin of core/messages.h; docs/design/wire.md describes the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kq.records.hash import NO_HASH, Hash
from kq.records.jobs import DeviceInfo, JobState, LeaderboardRow, RunRow
from kq.records.submission import Backend, Submission
from kq.records.text_enum import TextEnum
from kq.wire.queue_messages import OPERATION_REPLIES, OPERATIONS, Operation, OperationReply

PROTOCOL_VERSION = 1


class Packing(TextEnum):
    """How the bytes of a blob are compressed."""

    RAW = "raw"
    ZSTD = "zstd"
    LZ4 = "lz4"  # used by the C++ programs only


@dataclass(frozen=True)
class Blob:
    """The bytes of a file, identified by the SHA-256 of its content, which the receiver checks."""

    hash: Hash = NO_HASH
    bytes: bytes = field(default_factory=bytes)  # a plain default would hide the type of the same name
    packing: Packing = Packing.RAW


# ---- from the client to the broker


@dataclass(frozen=True)
class SubmitBatch:
    """Submits jobs with the files they need."""

    run: str = ""
    jobs: list[Submission] = field(default_factory=list)
    blobs: list[Blob] = field(default_factory=list)
    submitter: str = ""  # the submitter whose share and quota the jobs use


@dataclass(frozen=True)
class StatusQuery:
    """Asks for the statuses of jobs."""

    seqs: list[int] = field(default_factory=list)
    wait_ms: int = 0  # how long the broker may hold back its answer until one of the jobs finishes


@dataclass(frozen=True)
class RunQuery:
    """Asks for rows of a run in label order, those after `after_label`."""

    run: str = ""
    after_label: bytes = b""
    limit: int = 0
    with_samples: bool = False
    with_reruns: bool = False


@dataclass(frozen=True)
class BoardQuery:
    """Asks for rows of the leaderboard, those after `after_key`."""

    after_key: bytes = b""
    limit: int = 0


@dataclass(frozen=True)
class BrokerQuery:
    """Asks for the status of the broker."""


# ---- from the broker to the client


class Acceptance(TextEnum):
    """What the broker did with one submission."""

    ACCEPTED = "accepted"  # the broker has queued a new job, or a finished one again
    REUSED = "reused"  # a job for the same work exists, and the ack names it
    REFUSED = "refused"  # the broker did not accept the submission
    BUSY = "busy"  # a quota, the queue or the disk is full for now; the submission may be sent again


@dataclass(frozen=True)
class JobAck:
    """The broker's answer to one submission."""

    acceptance: Acceptance = Acceptance.REFUSED
    seq: int = 0  # the number of the job; 0 when refused or busy
    state: JobState = JobState.QUEUED
    reason: str = ""  # why the submission was refused or the broker is busy
    retry_after_ms: int = 0  # when the submission may be sent again, if the broker is busy


@dataclass(frozen=True)
class SubmitAck:
    """Answers a SubmitBatch, with one JobAck per job in the same order."""

    jobs: list[JobAck] = field(default_factory=list)


class WaitReason(TextEnum):
    """Why a queued job is not running yet."""

    NONE = "none"
    BEHIND = "behind"
    NO_WORKER = "no_worker"
    NOT_BEFORE = "not_before"
    AFTER_FAILURE = "after_failure"
    PAUSED = "paused"
    DRAINING = "draining"


@dataclass(frozen=True)
class JobStatus:
    """Where one job stands."""

    seq: int = 0
    state: JobState = JobState.QUEUED
    attempt: int = 0
    verdict: str = ""  # the name of the verdict of a finished job
    served: bool = False  # whether a connected worker can run the queued job
    why: WaitReason = WaitReason.NONE  # why the queued job waits
    position: int = 0  # place among the submitter's jobs of the same priority and requirements; the first has 1
    ahead: int = 0  # jobs of all submitters that the same workers could run and that rank at least as high
    until_ms: int = 0  # when the job may run, Unix time
    worker: str = ""  # the worker that has the job's lease, or builds the queued job in advance
    build_started_ms: int = 0  # when that worker began to build the job, Unix time; 0: no build runs
    builds_extensions: bool = False  # whether that build compiles extensions of torch


@dataclass(frozen=True)
class StatusReply:
    """Answers a StatusQuery; jobs that the broker does not know are left out."""

    jobs: list[JobStatus] = field(default_factory=list)


@dataclass(frozen=True)
class RunReply:
    """Answers a RunQuery."""

    rows: list[RunRow] = field(default_factory=list)
    more: bool = False


@dataclass(frozen=True)
class BoardReply:
    """Answers a BoardQuery."""

    rows: list[LeaderboardRow] = field(default_factory=list)
    last_key: bytes = b""
    more: bool = False


@dataclass(frozen=True)
class WorkerStatus:
    """A connected worker."""

    worker: str = ""
    devices: list[DeviceInfo] = field(default_factory=list)
    running: int = 0
    last_seen_ms: int = 0  # Unix time
    labels: list[str] = field(default_factory=list)
    draining: bool = False
    backends: list[Backend] = field(default_factory=list)  # backends that the worker runs; empty: all
    quarantined: list[str] = field(default_factory=list)  # one sentence for each device that the worker stopped using
    builds_for: list[DeviceInfo] = field(default_factory=list)  # kinds and architectures, if the worker only builds
    built_n: int = 0  # build artifacts of the worker that the broker took since the worker connected
    building: int = 0  # builds in progress
    build_started_ms: int = 0  # when the longest of them began, Unix time; 0: no build runs

    def __str__(self) -> str:
        devices = [one.model or one.kind.value for one in self.devices] or ["only builds"]
        state = "idle" if self.running == 0 else f"{self.running} running"
        return f"{self.worker} ({', '.join([*devices, state, *(['draining'] if self.draining else [])])})"


@dataclass(frozen=True)
class BrokerReply:
    """Answers a BrokerQuery."""

    version: str = ""
    queued: int = 0
    leased: int = 0
    workers: list[WorkerStatus] = field(default_factory=list)
    has_keys: bool = False  # without keys every client may read every source and change every run

    def __str__(self) -> str:
        workers = ", ".join(map(str, self.workers)) or "none"
        return f"kq {self.version}: {self.queued} queued, {self.leased} running; workers: {workers}"


@dataclass(frozen=True)
class Refused:
    """The broker did not understand or not allow the request as a whole. No part of the request was carried out."""

    reason: str = ""


Request = SubmitBatch | StatusQuery | RunQuery | BoardQuery | BrokerQuery | Operation
Reply = SubmitAck | StatusReply | RunReply | BoardReply | BrokerReply | Refused | OperationReply
REQUESTS: tuple[type, ...] = (SubmitBatch, StatusQuery, RunQuery, BoardQuery, BrokerQuery, *OPERATIONS)
REPLIES: tuple[type, ...] = (SubmitAck, StatusReply, RunReply, BoardReply, BrokerReply, Refused, *OPERATION_REPLIES)
