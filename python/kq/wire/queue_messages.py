"""What people ask of the queue itself: core/operations.h. All but CancelJobs and the queries need the role admin."""

from __future__ import annotations

from dataclasses import dataclass, field

from kq.records.jobs import JobRecord, JobState, Requirements
from kq.records.submission import Priority

# ---- client -> broker


@dataclass(frozen=True)
class CancelJobs:
    seqs: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class RetryJobs:
    """Queues these again, if their verdict does not settle: abandoned, cancelled, expired, ..."""

    seqs: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class PurgeDead:
    seqs: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Pause:
    submitter: str = ""  # empty: everybody
    paused: bool = False


@dataclass(frozen=True)
class Drain:
    worker: str = ""
    draining: bool = False


@dataclass(frozen=True)
class JobsQuery:
    state: JobState = JobState.QUEUED
    after_seq: int = 0
    limit: int = 0


@dataclass(frozen=True)
class DeadQuery:
    after_seq: int = 0
    limit: int = 0


@dataclass(frozen=True)
class QueueQuery:
    limit: int = 0
    skip: int = 0


@dataclass(frozen=True)
class RunsQuery:
    after: str = ""  # the name of a run; empty: from the start
    limit: int = 0


@dataclass(frozen=True)
class StatsQuery:
    pass


@dataclass(frozen=True)
class Backup:
    dir: str = ""  # of the broker's machine: absolute, absent or empty


# ---- broker -> client


@dataclass(frozen=True)
class JobAction:
    seq: int = 0
    done: bool = False  # also where it was so already
    state: JobState = JobState.QUEUED
    reason: str = ""  # a sentence when not done


@dataclass(frozen=True)
class ActionReply:
    jobs: list[JobAction] = field(default_factory=list)


@dataclass(frozen=True)
class Done:
    pass


@dataclass(frozen=True)
class JobRow:
    job: JobRecord = field(default_factory=JobRecord)
    label: str = ""
    author: str = ""
    worker: str = ""  # that runs it; empty while queued


@dataclass(frozen=True)
class JobsReply:
    jobs: list[JobRow] = field(default_factory=list)
    last_seq: int = 0  # where the next query goes on, while there is more
    more: bool = False


@dataclass(frozen=True)
class LaneRow:
    """What waits under one priority, for one submitter, with the same requirements."""

    needs: Requirements = field(default_factory=Requirements)
    priority: Priority = Priority.NORMAL
    submitter: str = ""
    queued: int = 0
    oldest_ms: int = 0  # when its head was submitted, Unix time
    served: bool = False  # a connected worker can run it
    paused: bool = False


@dataclass(frozen=True)
class QueueReply:
    lanes: list[LaneRow] = field(default_factory=list)
    waiting: int = 0  # queued jobs whose time has not come
    more: bool = False


@dataclass(frozen=True)
class KnownRun:
    run: str = ""
    submitter: str = ""  # these two of the job with its first label
    submitted_at_ms: int = 0  # Unix time


@dataclass(frozen=True)
class RunsReply:
    runs: list[KnownRun] = field(default_factory=list)
    more: bool = False


@dataclass(frozen=True)
class Metric:
    name: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    value: float = 0.0


@dataclass(frozen=True)
class StatsReply:
    metrics: list[Metric] = field(default_factory=list)


Operation = (
    CancelJobs
    | RetryJobs
    | PurgeDead
    | Pause
    | Drain
    | JobsQuery
    | DeadQuery
    | QueueQuery
    | StatsQuery
    | Backup
    | RunsQuery
)
OperationReply = ActionReply | Done | JobsReply | QueueReply | StatsReply | RunsReply
OPERATIONS: tuple[type, ...] = (
    CancelJobs, RetryJobs, PurgeDead, Pause, Drain, JobsQuery, DeadQuery, QueueQuery, StatsQuery, Backup, RunsQuery,
)  # fmt: skip
OPERATION_REPLIES: tuple[type, ...] = (ActionReply, Done, JobsReply, QueueReply, StatsReply, RunsReply)
