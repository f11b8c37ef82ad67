"""The operations of a client as generators without a socket and a clock. Client and AsyncClient both drive them.

An operation yields Ask and is resumed with the broker's reply, or yields Sleep and is resumed after the pause. Its
return value is the operation's result. A request may be sent any number of times, because the broker carries it out
once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeVar

from kq.errors import BadInput, BrokerUnreachable, GaveUp, NotFound
from kq.records.jobs import JobState, LeaderboardRow, RunRow
from kq.records.limits import QUERY_ROWS_MAX, QUERY_SEQS_MAX, SUBMIT_BYTES_MAX
from kq.records.submission import Submission
from kq.records.validate import check, check_name, span_s
from kq.wire.codec import message_name
from kq.wire.messages import (
    Acceptance,
    BoardQuery,
    BoardReply,
    BrokerQuery,
    BrokerReply,
    JobAck,
    JobStatus,
    Refused,
    Reply,
    Request,
    RunQuery,
    RunReply,
    StatusQuery,
    StatusReply,
    SubmitAck,
    SubmitBatch,
    WaitReason,
)
from kq.wire.packing import batches, part_of, size_of
from kq.wire.queue_messages import ActionReply, CancelJobs, Done, FileQuery, FileReply, JobAction, ShareRun

ANSWER_TIMEOUT_S = 5.0  # how long to wait for the answer to a cheap request
SUBMIT_TIMEOUT_S = 60.0  # how long to wait until a busy broker acknowledges one batch
SILENCE_S = 60.0  # how long a waiting client tolerates a broker that does not answer; longer than a broker's restart
FINAL_QUERY_S = 1.0  # how long the last query of a wait may take once the wait's deadline has passed
BUSY_S_MIN = 0.1  # the shortest pause before jobs are sent again that a busy broker did not accept
BUSY_S_MAX = 30.0  # the longest such pause
STATUS_WAIT_S = 2.0  # how long the broker may hold back the answer to a status query until a job finishes
POLL_S_MIN = 0.02  # the shortest pause between two status queries; a warm worker takes no longer for a small job
POLL_S_MAX = 1.0  # the longest pause between two status queries to a broker that answers immediately
POLL_S_PER_JOB = 0.0002  # added to a pause for each job that is asked about, because such a query costs more
ROWS_FIRST = 8  # the limit of the first row query, before it is known how close together the wanted rows are
LISTED_MAX = 5  # how many jobs one error sentence lists


@dataclass(frozen=True)
class Ask:
    """Send this request and resume the operation with the reply; fail it if there is none after `timeout_s`."""

    request: Request
    timeout_s: float


@dataclass(frozen=True)
class Sleep:
    """Resume the operation after this pause."""

    seconds: float


T = TypeVar("T")
Operation = Generator[Ask | Sleep, Any, T]


def checked(run: str, submissions: Iterable[Submission], submitter: str = "") -> list[Submission]:
    """Returns the submissions as a list, or raises BadInput if a broker would refuse one of them. Nothing is sent."""
    submissions = list(iterate_submissions(submissions))
    check_name("run", run)
    if submitter:
        check_name("submitter", submitter)
    seen: set[str] = set()
    for submission in submissions:
        check(submission)
        if submission.label in seen:
            raise BadInput(f"{submission.label}: this label is given twice; labels are unique inside a run")
        seen.add(submission.label)
        if (size := size_of(submission)) > SUBMIT_BYTES_MAX:
            raise BadInput(f"{submission.label}: its files have {size} bytes, at most {SUBMIT_BYTES_MAX} are allowed")
    return submissions


def iterate_submissions(submissions: Iterable[Submission]) -> Iterator[Submission]:
    """Yields the submissions one by one; raises BadInput if the argument or an item has another type."""
    if isinstance(submissions, Submission | str | bytes) or not isinstance(submissions, Iterable):
        raise BadInput(f"a list of Submission is needed, got {type(submissions).__name__}")
    for i, submission in enumerate(submissions):
        if not isinstance(submission, Submission):
            raise BadInput(f"submission {i} must be a Submission, got {type(submission).__name__}")
        yield submission


def job_numbers(seqs: Iterable[int]) -> list[int]:
    """Returns the job numbers, which are those in JobAck.seq, as a list; raises BadInput for anything else."""
    if isinstance(seqs, str | bytes) or not isinstance(seqs, Iterable):
        raise BadInput(f"a list of job numbers is needed, got {type(seqs).__name__}")
    numbers = list(seqs)  # a generator can be read only once
    for seq in numbers:
        if not isinstance(seq, Integral) or not 0 < seq < 1 << 64:
            raise BadInput(f"{seq!r} is not a job number; a refused submission has none")
    return numbers


def submit(
    run: str,
    submissions: Iterable[Submission],
    submitter: str = "",
    timeout: float | None = None,
    now: Callable[[], float] = lambda: 0.0,
) -> Operation[list[JobAck]]:
    """Returns one JobAck per submission, in order. All submissions are checked before anything is sent.

    Jobs that a busy broker does not accept are sent again after longer and longer pauses; after `timeout` seconds the
    operation raises GaveUp. It raises BrokerUnreachable, no later than that, if the broker does not answer.
    """
    submissions = checked(run, submissions, submitter)
    packed = list(batches(run, submissions, submitter))
    deadline = now() + span_s(timeout)
    acks: list[JobAck] = []
    for batch in packed:
        acks += yield from _send_batch(batch, deadline, now, len(acks), len(submissions))
    return acks


def _send_batch(
    batch: SubmitBatch, deadline: float, now: Callable[[], float], before: int, total: int
) -> Operation[list[JobAck]]:
    """Sends one batch, and sends the jobs again that the broker answered with `busy`; returns one JobAck per job."""
    acks = [JobAck()] * len(batch.jobs)
    unfinished = list(range(len(batch.jobs)))
    pause = 0.0
    while unfinished:
        timeout_s = min(SUBMIT_TIMEOUT_S, max(deadline - now(), FINAL_QUERY_S))
        ack = expect(SubmitAck, (yield Ask(part_of(batch, unfinished), timeout_s)))
        if len(ack.jobs) != len(unfinished):
            raise BrokerUnreachable(
                f"the broker acknowledged {len(ack.jobs)} of {len(unfinished)} jobs; do both have the same version?"
            )
        for place, job in zip(unfinished, ack.jobs, strict=True):
            acks[place] = job
        busy = [place for place in unfinished if acks[place].acceptance is Acceptance.BUSY]
        if busy:
            asked = max(acks[place].retry_after_ms for place in busy) / 1_000
            pause = min(max(asked, BUSY_S_MIN, 0.0 if len(busy) < len(unfinished) else 2 * pause), BUSY_S_MAX)
            if now() >= deadline:
                settled = before + len(acks) - len(busy)
                raise GaveUp(
                    f"the broker is busy: {acks[busy[0]].reason}; {settled} of {total} jobs were answered before, "
                    "submit again to go on"
                )
            yield Sleep(min(pause, deadline - now()))
        unfinished = busy
    return acks


def statuses(seqs: Iterable[int], timeout_s: float, wait_s: float = 0.0) -> Operation[dict[int, JobStatus]]:
    """Returns the status of each job by its number; jobs that the broker does not know are left out.

    The broker may hold back its answer up to `wait_s` seconds until one of the jobs finishes. If the jobs need several
    queries, only the last query, which asks about the first jobs, waits.
    """
    wanted = list(dict.fromkeys(job_numbers(seqs)))
    found: dict[int, JobStatus] = {}
    for start in reversed(range(0, len(wanted), QUERY_SEQS_MAX)):
        # Only the last query may wait, and only briefly if there are several, because all must be repeated soon.
        longest_s = 0.0 if start else STATUS_WAIT_S if len(wanted) <= QUERY_SEQS_MAX else POLL_S_MAX
        wait_ms = int(1_000 * max(0.0, min(wait_s, longest_s)))
        query = StatusQuery(wanted[start : start + QUERY_SEQS_MAX], wait_ms)
        reply = expect(StatusReply, (yield Ask(query, timeout_s)))
        found.update((status.seq, status) for status in reply.jobs)
    return found


def unknown_job_text(seq: int) -> str:
    return f"the broker knows no job {seq}; is this another broker or store?"


def wait(
    seqs: Iterable[int], timeout: float | None, now: Callable[[], float], *, first: bool = False
) -> Operation[list[JobStatus]]:
    """Waits until all jobs are finished and returns one JobStatus per number, in order.

    Raises GaveUp after `timeout` seconds. With `first` the operation returns as soon as any job is finished or the time
    is over.
    """
    deadline = now() + span_s(timeout)
    seqs = job_numbers(seqs)
    found: dict[int, JobStatus] = {}
    pending = list(dict.fromkeys(seqs))
    pause = POLL_S_MIN
    while pending:
        asked_s = now()
        timeout_s = min(SILENCE_S, max(deadline - asked_s, ANSWER_TIMEOUT_S))
        found.update((yield from statuses(pending, timeout_s, deadline - asked_s)))
        if missing := [seq for seq in pending if seq not in found]:
            raise BadInput(unknown_job_text(missing[0]))
        unfinished = [seq for seq in pending if found[seq].state is not JobState.FINISHED]
        if not unfinished or (first and (len(unfinished) < len(pending) or now() >= deadline)):
            break
        if now() >= deadline:
            raise GaveUp(
                f"{len(unfinished)} of {len(set(seqs))} jobs are not finished after {timeout:g} s; they go on: "
                + listed([f"job {seq} ({status_text(found[seq])})" for seq in unfinished]),
                [found[seq] for seq in unfinished],
            )
        pause = POLL_S_MIN if len(unfinished) < len(pending) else min(pause * 1.5, POLL_S_MAX)
        pending = unfinished
        yield Sleep(max(0.0, min(asked_s + pause, deadline) - now()))
    return [found[seq] for seq in seqs]


def status_text(status: JobStatus) -> str:
    """Returns the state and why a queued job waits, such as "queued, no_worker" or "leased"."""
    return status.state.value if status.why is WaitReason.NONE else f"{status.state.value}, {status.why.value}"


def listed(words: Sequence[str]) -> str:
    """Joins the first LISTED_MAX words and says how many more there are."""
    more = len(words) - LISTED_MAX
    return ", ".join(words[:LISTED_MAX]) + (f" and {more} more" if more > 0 else "")


def results(run: str, with_samples: bool) -> Operation[list[RunRow]]:
    """Returns all rows of a run in label order; the row of an unfinished job has no result."""
    rows: list[RunRow] = []
    after: str | None = ""
    while after is not None:
        reply = yield from page(run, after, with_samples)
        rows += reply.rows
        after = next_page(reply)
    return rows


def known(run: str, rows: list[RunRow]) -> list[RunRow]:
    """Returns the rows; raises NotFound if there are none, because a run has at least one row."""
    if not rows:
        raise NotFound(f"there is no run {run!r}; kq ctl runs lists the runs of the broker")
    return rows


def page(run: str, after_label: str, with_samples: bool) -> Operation[RunReply]:
    """Returns the rows that follow a label, as many as one reply holds."""
    check_name("run", run)
    query = RunQuery(run, after_label.encode(), QUERY_ROWS_MAX, with_samples)
    return expect(RunReply, (yield Ask(query, ANSWER_TIMEOUT_S)))


def next_page(reply: RunReply) -> str | None:
    """Returns the label after which the next page starts, or None if this page is the last."""
    return reply.rows[-1].label if reply.more and reply.rows else None


def row(run: str, label: str) -> Operation[RunRow | None]:
    """Returns the row of one label, or None if the run has no such label."""
    found = yield from rows_of(run, [label], SILENCE_S)
    return found.get(label)


def rows_of(
    run: str, labels: Iterable[str], timeout_s: float, with_samples: bool = False
) -> Operation[dict[str, RunRow]]:
    """Returns the rows of these labels by label; labels without a row are left out.

    Wanted rows that are neighbours in the run's label order come in one reply. The limit of each query follows how many
    of the last reply's rows were wanted.
    """
    wanted = sorted(set(labels), key=str.encode)
    found: dict[str, RunRow] = {}
    limit = ROWS_FIRST
    while wanted:
        limit = min(limit, len(wanted), QUERY_ROWS_MAX)
        reply = expect(RunReply, (yield Ask(RunQuery(run, label_before(wanted[0]), limit, with_samples), timeout_s)))
        hits = {row.label: row for row in reply.rows if row.label in wanted[:limit]}
        limit = max(1, 2 * len(hits) if len(hits) == limit else len(hits))
        found |= hits
        last = reply.rows[-1].label.encode() if reply.rows and reply.more else None
        # The reply is in label order, so a wanted label up to its last row that was not in it does not exist. The query
        # began at the first wanted label.
        wanted = [label for label in wanted[1:] if label not in found and last is not None and label.encode() > last]
    return found


def label_before(label: str) -> bytes:
    """Returns the bytes that sort directly before a label.

    No label sorts in between, as none contains the byte 0xFF.
    """
    data = label.encode()
    return data[:-1] + bytes([data[-1] - 1, 0xFF])


def cancel(seqs: Iterable[int]) -> Operation[list[JobAction]]:
    """Cancels queued or running jobs and returns what the broker did with each."""
    wanted = list(dict.fromkeys(job_numbers(seqs)))
    actions: list[JobAction] = []
    for start in range(0, len(wanted), QUERY_SEQS_MAX):
        reply = expect(ActionReply, (yield Ask(CancelJobs(wanted[start : start + QUERY_SEQS_MAX]), SUBMIT_TIMEOUT_S)))
        actions += reply.jobs
    return actions


def share(run: str, names: Iterable[str], shared: bool) -> Operation[None]:
    """Lets others add rows to a run and read its files, or no longer."""
    check_name("run", run)
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise BadInput(f"a list of names is needed, got {names!r}")
    wanted = list(names)
    for name in wanted:
        check_name("a name to share with", name)
    expect(Done, (yield Ask(ShareRun(run, wanted, shared), ANSWER_TIMEOUT_S)))


def sources(run: str, label: str) -> Operation[dict[str, bytes]]:
    """Returns the contents of a row's source files by their names."""
    found = yield from row(run, label)
    if found is None:
        raise BadInput(f"there is no label {label!r} in run {run!r}")
    files = {}
    for file in found.entry.submission.files:
        reply = expect(FileReply, (yield Ask(FileQuery(run, label, file.hash), ANSWER_TIMEOUT_S)))
        files[file.name] = reply.bytes
    return files


def leaderboard() -> Operation[list[LeaderboardRow]]:
    """Returns all rows of the leaderboard."""
    rows: list[LeaderboardRow] = []
    after = b""
    more = True
    while more:
        reply = expect(BoardReply, (yield Ask(BoardQuery(after, QUERY_ROWS_MAX), ANSWER_TIMEOUT_S)))
        rows += reply.rows
        after = reply.last_key
        more = reply.more and bool(reply.rows)
    return rows


def status() -> Operation[BrokerReply]:
    """Returns the broker's version, its queue lengths and its workers."""
    return expect(BrokerReply, (yield Ask(BrokerQuery(), ANSWER_TIMEOUT_S)))


def expect(kind: type[T], reply: Reply) -> T:
    """Returns the reply if its type fits the request; raises BadInput for a refusal, else BrokerUnreachable."""
    if isinstance(reply, kind):
        return reply
    if isinstance(reply, Refused):
        raise BadInput(f"the broker refused the request: {reply.reason}")
    raise BrokerUnreachable(
        f"the broker answered with {message_name(type(reply))}, which does not fit; do both have the same version?"
    )
