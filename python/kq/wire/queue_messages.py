"""The messages that inspect and control the queue. The Python twin of core/operations.h.

CancelJobs and the queries are open to every client; all other requests need a key with the role admin.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kq.records.hash import NO_HASH, Hash
from kq.records.jobs import JobRecord, JobState, Requirements
from kq.records.submission import Priority

# ---- from the client to the broker


@dataclass(frozen=True)
class CancelJobs:
    """Cancels queued or running jobs for one submitter. A job that others submitted too goes on for them."""

    seqs: list[int] = field(default_factory=list)
    submitter: str = ""  # the submitter for whom a gateway asks; empty: the client's own


@dataclass(frozen=True)
class RetryJobs:
    """Queues jobs again whose verdict is not terminal, such as abandoned, cancelled or expired."""

    seqs: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class PurgeDead:
    """Removes jobs from the dead letters. The jobs keep their verdicts."""

    seqs: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Pause:
    """Pauses or resumes leasing of a submitter's jobs. Running jobs go on, and the state survives a restart."""

    submitter: str = ""  # empty: all submitters
    paused: bool = False


@dataclass(frozen=True)
class Drain:
    """Stops or resumes new leases for a worker. Its running jobs go on, and the state survives a restart."""

    worker: str = ""
    draining: bool = False


@dataclass(frozen=True)
class JobsQuery:
    """Asks for jobs in one state, in the order of their numbers, those after `after_seq`."""

    state: JobState = JobState.QUEUED
    after_seq: int = 0
    limit: int = 0


@dataclass(frozen=True)
class DeadQuery:
    """Asks for the dead letters, in the order of their numbers, those after `after_seq`."""

    after_seq: int = 0
    limit: int = 0


@dataclass(frozen=True)
class QueueQuery:
    """Asks for the lanes of the queue after the first `skip`; the lanes that are due next come first."""

    limit: int = 0
    skip: int = 0


@dataclass(frozen=True)
class RunsQuery:
    """Asks for runs in the order of their names."""

    after: str = ""  # the name of the run after which the reply starts; empty: from the first run
    limit: int = 0


@dataclass(frozen=True)
class ShareRun:
    """Lets others add rows to a run and read its files, or no longer. It needs a broker with keys."""

    run: str = ""
    names: list[str] = field(default_factory=list)
    shared: bool = False
    submitter: str = ""  # the submitter for whom a gateway asks; empty: the client's own


@dataclass(frozen=True)
class FileQuery:
    """Asks for a file of one row: a source or the problem."""

    run: str = ""
    label: str = ""
    hash: Hash = NO_HASH


@dataclass(frozen=True)
class StatsQuery:
    """Asks for the broker's metrics."""


@dataclass(frozen=True)
class Backup:
    """Writes a copy of the store into a directory."""

    dir: str = ""  # an absolute path on the broker's machine; the directory must be absent or empty


# ---- from the broker to the client


@dataclass(frozen=True)
class JobAction:
    """What an operation did with one job."""

    seq: int = 0
    done: bool = False  # True also if the job already was in the wanted state
    state: JobState = JobState.QUEUED
    reason: str = ""  # why the operation was not done, or that the job already was in the wanted state


@dataclass(frozen=True)
class ActionReply:
    """Answers CancelJobs, RetryJobs and PurgeDead, with one JobAction per job."""

    jobs: list[JobAction] = field(default_factory=list)


@dataclass(frozen=True)
class Done:
    """Answers an operation without other result; the operation is done and its effect is on the broker's disk."""


@dataclass(frozen=True)
class JobRow:
    """A job in a list of jobs."""

    job: JobRecord = field(default_factory=JobRecord)
    label: str = ""
    author: str = ""
    worker: str = ""  # the worker that runs the job; empty while queued
    build_started_ms: int = 0  # when the worker began to build the job, Unix time; 0: no build runs


@dataclass(frozen=True)
class JobsReply:
    """Answers JobsQuery and DeadQuery."""

    jobs: list[JobRow] = field(default_factory=list)
    last_seq: int = 0  # where the next query must continue if there is more
    more: bool = False


@dataclass(frozen=True)
class LaneRow:
    """A lane of the queue: the queued jobs of one submitter with the same priority and requirements."""

    needs: Requirements = field(default_factory=Requirements)
    priority: Priority = Priority.NORMAL
    submitter: str = ""
    queued: int = 0
    oldest_ms: int = 0  # when the first job of the lane was submitted, Unix time
    served: bool = False  # whether a connected worker can run the lane's jobs
    paused: bool = False


@dataclass(frozen=True)
class QueueReply:
    """Answers a QueueQuery."""

    lanes: list[LaneRow] = field(default_factory=list)
    waiting: int = 0  # queued jobs that must not run before a later time
    more: bool = False


@dataclass(frozen=True)
class KnownRun:
    """A run in a list of runs."""

    run: str = ""
    submitter: str = ""  # the owner of the run; without keys the submitter of its first label
    submitted_at_ms: int = 0  # when that job was submitted, Unix time


@dataclass(frozen=True)
class RunsReply:
    """Answers a RunsQuery."""

    runs: list[KnownRun] = field(default_factory=list)
    more: bool = False


@dataclass(frozen=True)
class Metric:
    """One metric of the broker with its labels."""

    name: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    value: float = 0.0


@dataclass(frozen=True)
class StatsReply:
    """Answers a StatsQuery."""

    metrics: list[Metric] = field(default_factory=list)


@dataclass(frozen=True)
class FileReply:
    """Answers a FileQuery."""

    name: str = ""
    hash: Hash = NO_HASH
    bytes: bytes = field(default_factory=bytes)  # a plain default would hide the type of the same name


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
    | ShareRun
    | FileQuery
)
OperationReply = ActionReply | Done | JobsReply | QueueReply | StatsReply | RunsReply | FileReply


OPERATIONS: tuple[type, ...] = (
    CancelJobs, RetryJobs, PurgeDead, Pause, Drain, JobsQuery, DeadQuery, QueueQuery, StatsQuery, Backup, RunsQuery,
    ShareRun, FileQuery,
)  # fmt: skip
OPERATION_REPLIES: tuple[type, ...] = (ActionReply, Done, JobsReply, QueueReply, StatsReply, RunsReply, FileReply)
