"""What a client does, without a socket or a clock: both clients drive these generators.

An operation yields Ask, and is resumed with the reply, or Sleep; what it returns is the outcome. Requests may be sent
any number of times: the broker does each of them once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeVar

from kq.errors import BadInput, BrokerUnreachable, GaveUp
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
from kq.wire.queue_messages import ActionReply, CancelJobs, JobAction

ANSWER_TIMEOUT_S = 5.0  # for a broker that is idle or not there
SUBMIT_TIMEOUT_S = 60.0  # for the acknowledgement of one batch by a busy broker
SILENCE_S = 60.0  # while waiting: outlives a restart of the broker
LAST_LOOK_S = 1.0  # what a question may take that is asked at the end of a time
BUSY_S_MIN = 0.1  # between two tries to submit what a busy broker has no room for
BUSY_S_MAX = 30.0
NEWS_WAIT_S = 2.0  # that the broker may wait before it says that nothing is new: how old what is pending may look
POLL_S_MIN = 0.02  # between two questions; a warm worker takes no longer for a small job
POLL_S_MAX = 1.0  # between two questions to a broker that does not wait before it answers
POLL_S_PER_JOB = 0.0002  # at least: asking about many jobs costs more
ROWS_FIRST = 8  # rows asked for at once, before it is known how close those that are wanted lie
NAMED_MAX = 5  # jobs that one sentence names


@dataclass(frozen=True)
class Ask:
    request: Request
    timeout_s: float


@dataclass(frozen=True)
class Sleep:
    seconds: float


T = TypeVar("T")
Operation = Generator[Ask | Sleep, Any, T]


def checked(run: str, submissions: Iterable[Submission], submitter: str = "") -> list[Submission]:
    """The submissions, if a broker can take them all. Nothing is sent."""
    submissions = list(each_of(submissions))
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


def each_of(submissions: Iterable[Submission]) -> Iterator[Submission]:
    """One after the other, as long as they are some; BadInput says what else was given."""
    if isinstance(submissions, Submission | str | bytes) or not isinstance(submissions, Iterable):
        raise BadInput(f"a list of Submission is needed, got {type(submissions).__name__}")
    for i, submission in enumerate(submissions):
        if not isinstance(submission, Submission):
            raise BadInput(f"submission {i} must be a Submission, got {type(submission).__name__}")
        yield submission


def numbers_of(seqs: Iterable[int]) -> list[int]:
    """The numbers of jobs, as JobAck.seq has them."""
    if isinstance(seqs, str | bytes) or not isinstance(seqs, Iterable):
        raise BadInput(f"a list of the numbers of jobs is needed, got {type(seqs).__name__}")
    numbers = list(seqs)  # whoever gave a generator gave it once
    for seq in numbers:
        if not isinstance(seq, Integral) or not 0 < seq < 1 << 64:
            raise BadInput(f"{seq!r} is the number of no job; a refused submission has none")
    return numbers


def submit(
    run: str,
    submissions: Iterable[Submission],
    submitter: str = "",
    timeout: float | None = None,
    now: Callable[[], float] = lambda: 0.0,
) -> Operation[list[JobAck]]:
    """One JobAck per submission, in order. Everything is checked before anything is sent.

    What a busy broker has no room for is sent again, after longer and longer pauses; GaveUp after `timeout` seconds.
    A broker that does not answer at all is BrokerUnreachable, no later than that.
    """
    submissions = checked(run, submissions, submitter)
    packed = list(batches(run, submissions, submitter))
    deadline = now() + span_s(timeout)
    acks: list[JobAck] = []
    for batch in packed:
        acks += yield from _send(batch, deadline, now, len(acks), len(submissions))
    return acks


def _send(
    batch: SubmitBatch, deadline: float, now: Callable[[], float], before: int, total: int
) -> Operation[list[JobAck]]:
    """One batch, and what of it the broker has no room for again."""
    acks = [JobAck()] * len(batch.jobs)
    still = list(range(len(batch.jobs)))
    pause = 0.0
    while still:
        patience = min(SUBMIT_TIMEOUT_S, max(deadline - now(), LAST_LOOK_S))
        ack = expect(SubmitAck, (yield Ask(part_of(batch, still), patience)))
        if len(ack.jobs) != len(still):
            raise BrokerUnreachable(
                f"the broker acknowledged {len(ack.jobs)} of {len(still)} jobs; are both of one version?"
            )
        for place, job in zip(still, ack.jobs, strict=True):
            acks[place] = job
        busy = [place for place in still if acks[place].acceptance is Acceptance.BUSY]
        if busy:
            asked = max(acks[place].retry_after_ms for place in busy) / 1_000
            pause = min(max(asked, BUSY_S_MIN, 0.0 if len(busy) < len(still) else 2 * pause), BUSY_S_MAX)
            if now() >= deadline:
                settled = before + len(acks) - len(busy)
                raise GaveUp(
                    f"the broker is busy: {acks[busy[0]].reason}; {settled} of {total} jobs were answered before, "
                    "submit again to go on"
                )
            yield Sleep(min(pause, deadline - now()))
        still = busy
    return acks


def statuses(seqs: Iterable[int], timeout_s: float, wait_s: float = 0.0) -> Operation[dict[int, JobStatus]]:
    """Where these jobs stand; those that the broker does not know are left out.

    Within `wait_s` it is told when one of them is finished; of more than one question has, of one of the first.
    """
    wanted = list(dict.fromkeys(numbers_of(seqs)))
    found: dict[int, JobStatus] = {}
    for start in reversed(range(0, len(wanted), QUERY_SEQS_MAX)):
        # The last question may wait, and where there are others not for long: they are to be asked again.
        longest_s = 0.0 if start else NEWS_WAIT_S if len(wanted) <= QUERY_SEQS_MAX else POLL_S_MAX
        wait_ms = int(1_000 * max(0.0, min(wait_s, longest_s)))
        query = StatusQuery(wanted[start : start + QUERY_SEQS_MAX], wait_ms)
        reply = expect(StatusReply, (yield Ask(query, timeout_s)))
        found.update((status.seq, status) for status in reply.jobs)
    return found


def unknown(seq: int) -> str:
    return f"the broker knows no job {seq}; is this another broker or store?"


def wait(
    seqs: Iterable[int], timeout: float | None, now: Callable[[], float], *, first: bool = False
) -> Operation[list[JobStatus]]:
    """Until all are finished: one JobStatus per seq, in order. GaveUp after `timeout` seconds.

    With `first` until any is finished or the time is over, whichever comes first.
    """
    deadline = now() + span_s(timeout)
    seqs = numbers_of(seqs)
    found: dict[int, JobStatus] = {}
    pending = list(dict.fromkeys(seqs))
    pause = POLL_S_MIN
    while pending:
        asked_s = now()
        patience = min(SILENCE_S, max(deadline - asked_s, ANSWER_TIMEOUT_S))
        found.update((yield from statuses(pending, patience, deadline - asked_s)))
        if missing := [seq for seq in pending if seq not in found]:
            raise BadInput(unknown(missing[0]))
        still = [seq for seq in pending if found[seq].state is not JobState.FINISHED]
        if not still or (first and (len(still) < len(pending) or now() >= deadline)):
            break
        if now() >= deadline:
            raise GaveUp(
                f"{len(still)} of {len(set(seqs))} jobs are not finished after {timeout:g} s; they go on: "
                + named([f"job {seq} ({standing(found[seq])})" for seq in still]),
                [found[seq] for seq in still],
            )
        pause = POLL_S_MIN if len(still) < len(pending) else min(pause * 1.5, POLL_S_MAX)
        pending = still
        yield Sleep(max(0.0, min(asked_s + pause, deadline) - now()))
    return [found[seq] for seq in seqs]


def standing(status: JobStatus) -> str:
    """ "queued, no_worker", "leased" """
    return status.state.value if status.why is WaitReason.NONE else f"{status.state.value}, {status.why.value}"


def named(words: Sequence[str]) -> str:
    """The first of many, and how many more there are."""
    more = len(words) - NAMED_MAX
    return ", ".join(words[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def results(run: str, with_samples: bool) -> Operation[list[RunRow]]:
    """All rows of a run in label order, unfinished ones without a result."""
    rows: list[RunRow] = []
    after: str | None = ""
    while after is not None:
        reply = yield from page(run, after, with_samples)
        rows += reply.rows
        after = next_page(reply)
    return rows


def page(run: str, after_label: str, with_samples: bool) -> Operation[RunReply]:
    """As many rows behind a label as one reply holds."""
    check_name("run", run)
    query = RunQuery(run, after_label.encode(), QUERY_ROWS_MAX, with_samples)
    return expect(RunReply, (yield Ask(query, ANSWER_TIMEOUT_S)))


def next_page(reply: RunReply) -> str | None:
    """The label behind which the run goes on."""
    return reply.rows[-1].label if reply.more and reply.rows else None


def row(run: str, label: str) -> Operation[RunRow | None]:
    """The row of one label."""
    found = yield from rows_of(run, [label], SILENCE_S)
    return found.get(label)


def rows_of(
    run: str, labels: Iterable[str], timeout_s: float, with_samples: bool = False
) -> Operation[dict[str, RunRow]]:
    """The rows of these labels, as far as there are any. As many come in one reply as lie side by side in the run."""
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
        # What the reply went past is not there; the first was asked for by name.
        wanted = [label for label in wanted[1:] if label not in found and last is not None and label.encode() > last]
    return found


def label_before(label: str) -> bytes:
    """What sorts right before a label: nothing can lie between, as the byte 0xFF stands in no label."""
    data = label.encode()
    return data[:-1] + bytes([data[-1] - 1, 0xFF])


def cancel(seqs: Iterable[int]) -> Operation[list[JobAction]]:
    wanted = list(dict.fromkeys(numbers_of(seqs)))
    actions: list[JobAction] = []
    for start in range(0, len(wanted), QUERY_SEQS_MAX):
        reply = expect(ActionReply, (yield Ask(CancelJobs(wanted[start : start + QUERY_SEQS_MAX]), SUBMIT_TIMEOUT_S)))
        actions += reply.jobs
    return actions


def leaderboard() -> Operation[list[LeaderboardRow]]:
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
    return expect(BrokerReply, (yield Ask(BrokerQuery(), ANSWER_TIMEOUT_S)))


def expect(kind: type[T], reply: Reply) -> T:
    """The reply if it is of the kind that fits the question."""
    if isinstance(reply, kind):
        return reply
    if isinstance(reply, Refused):
        raise BadInput(f"the broker refused the request: {reply.reason}")
    raise BrokerUnreachable(
        f"the broker answered with {message_name(type(reply))}, which does not fit; are both of one version?"
    )
