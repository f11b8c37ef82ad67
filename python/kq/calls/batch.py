"""A batch: many submissions handed over together, and the outcome of each. The module has no socket and no clock.

Each submission of a batch gets exactly one outcome, an Evaluation: the job finished, the broker refused the job, the
caller's time was over, or the broker did not answer. A job without a finished row stays listed in `pending`, and the
next as_completed() continues with the jobs that are pending.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import islice
from typing import Any

from kq.calls.operations import (
    FINAL_QUERY_S,
    POLL_S_MAX,
    POLL_S_MIN,
    POLL_S_PER_JOB,
    SILENCE_S,
    STATUS_WAIT_S,
    Ask,
    Operation,
    Sleep,
    checked,
    iterate_submissions,
    rows_of,
    status_text,
    statuses,
    submit,
    unknown_job_text,
)
from kq.calls.progress import Progress, Tally
from kq.calls.replaced import warn_of_replaced
from kq.errors import BadInput, BrokerUnreachable
from kq.evaluation import Evaluation
from kq.records.jobs import JobState, RunRow
from kq.records.limits import SUBMIT_JOBS_MAX
from kq.records.submission import Submission
from kq.records.validate import span_s
from kq.tables.html import html_table
from kq.wire.messages import Acceptance, JobAck, JobStatus

Clock = Callable[[], float]
Outcomes = Generator[Ask | Sleep | Evaluation, Any, None]


@dataclass
class PendingJob:
    """A job that has no outcome yet, with its status at the broker's last answer."""

    label: str
    seq: int
    since_s: float = field(repr=False)  # when the wait for this job began, by the client's monotonic clock
    status: JobStatus

    def __str__(self) -> str:
        return f"{self.label} (job {self.seq}): {status_text(self.status)}"


class Jobs:
    """The state of one batch: its acknowledgements, its pending jobs, and the outcomes that no caller has taken yet."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.acks: dict[str, JobAck] = {}  # by label
        self._pending: dict[str, PendingJob] = {}
        self._undelivered: deque[Evaluation] = deque()  # outcomes that the caller has not received yet
        self._given_up: set[str] = set()  # labels of pending jobs whose outcome is a failure of this wait
        self._counts = {"passed": 0, "failed": 0, "infra": 0}

    @property
    def pending(self) -> list[PendingJob]:
        """The jobs that the broker has not finished, according to its last answer."""
        return list(self._pending.values())

    def __len__(self) -> int:
        return len(self.acks)

    def tally(self, elapsed_s: float = 0.0) -> Tally:
        """Returns how many jobs of the batch are in which state."""
        waiting = [job for label, job in self._pending.items() if label not in self._given_up]
        running = sum(job.status.state is JobState.LEASED for job in waiting)
        counts = dict(self._counts)
        counts["infra"] += len(self._given_up)
        return Tally(len(self), running, len(waiting) - running, **counts, elapsed_s=elapsed_s)

    def add(self, submissions: Sequence[Submission], acks: Sequence[JobAck], now_s: float) -> None:
        """Adds submissions with the broker's acknowledgements; a refused one gets its outcome here."""
        for submission, ack in zip(submissions, acks, strict=True):
            label = submission.label
            self.acks[label] = ack
            if ack.acceptance is Acceptance.REFUSED:
                self._undelivered.append(self._failed(label, 0, f"the broker refused it: {ack.reason}"))
            else:
                self._pending[label] = PendingJob(label, ack.seq, now_s, JobStatus(ack.seq, ack.state))

    def take_outcomes(self) -> Iterator[Evaluation]:
        """Yields each outcome once.

        An outcome stays in the queue until a caller takes it, even if a caller stops early.
        """
        while self._undelivered:
            yield self._undelivered.popleft()

    def add_outcomes(self, outcomes: Sequence[Evaluation]) -> None:
        """Appends outcomes for take_outcomes()."""
        self._undelivered += outcomes

    def restart_waiting(self, now_s: float) -> None:
        """Restarts the timeout of every job that an earlier wait gave up, and drops those jobs' untaken failures."""
        for label in self._given_up:
            self._pending[label].since_s = now_s
        self._given_up.clear()
        self._undelivered = deque(outcome for outcome in self._undelivered if outcome.label not in self._pending)

    def waiting(self) -> list[PendingJob]:
        """Returns the pending jobs that this wait has not given up."""
        return [job for label, job in self._pending.items() if label not in self._given_up]

    def update(self, found: dict[int, JobStatus]) -> list[PendingJob]:
        """Stores the statuses that the broker sent.

        Returns the jobs that are finished or that the broker does not know.
        """
        for job in self.waiting():
            job.status = found.get(job.seq, job.status)
        return [job for job in self.waiting() if job.seq not in found or job.status.state is JobState.FINISHED]

    def finish(self, job: PendingJob, row: RunRow | None, *, known: bool) -> Evaluation | None:
        """Returns the outcome of a finished or unknown job and removes the job from `pending`.

        Returns None, and keeps the job pending, if its row has no result because the job was queued again.
        """
        if not known:
            outcome = self._failed(job.label, job.seq, unknown_job_text(job.seq))
        elif row is None:
            outcome = self._failed(job.label, job.seq, "the broker no longer has a row for this job")
        elif row.entry.seq != job.seq:
            outcome = self._failed(job.label, job.seq, f"this label of run '{self.run}' now names another job")
        elif row.result is None:
            return None
        else:
            outcome = Evaluation(self.run, job.label, job.seq, row)
            self._counts["infra" if outcome.reward is None else "passed" if outcome.passed else "failed"] += 1
        del self._pending[job.label]
        return outcome

    def give_up(self, job: PendingJob, failure: str) -> Evaluation:
        """Returns a failure as the outcome of this wait.

        The job stays pending, because the broker may still finish it.
        """
        self._given_up.add(job.label)
        return Evaluation(self.run, job.label, job.seq, failure=failure)

    def _failed(self, label: str, seq: int, failure: str) -> Evaluation:
        self._counts["infra"] += 1
        return Evaluation(self.run, label, seq, failure=f"{label}: {failure}")


def submit_many(
    jobs: Jobs, submissions: Iterable[Submission], submitter: str, timeout: float | None, now: Clock
) -> Operation[None]:
    """Submits all submissions, in as many messages as needed, and adds them to `jobs`.

    All items of a sequence are checked before anything is sent. Items of a generator are checked chunk by chunk, so a
    generator may yield any number of submissions.
    """
    deadline = now() + span_s(timeout)
    if isinstance(submissions, Sequence):
        checked(jobs.run, submissions, submitter)
    rest = iterate_submissions(submissions)
    while chunk := list(islice(rest, SUBMIT_JOBS_MAX)):
        for submission in chunk:
            if submission.label in jobs.acks:
                raise BadInput(f"{submission.label}: this label is given twice; labels are unique inside a run")
        if not jobs.acks:
            yield from warn_of_replaced(jobs.run, chunk, deadline - now())
        left = None if deadline == math.inf else max(0.0, deadline - now())
        acks = yield from submit(jobs.run, chunk, submitter, left, now)
        jobs.add(chunk, acks, now())


def as_completed(
    jobs: Jobs,
    now: Clock,
    timeout: float | None = None,
    job_timeout: float | None = None,
    with_samples: bool = False,
    progress: Progress | None = None,
    silence_s: float = SILENCE_S,
) -> Outcomes:
    """Yields the outcome of each pending job as the job finishes; ends after `timeout` seconds at the latest.

    The outcome is a failure for a job that is not finished `job_timeout` seconds after the broker accepted the job, and
    for every unfinished job once the broker has not answered for `silence_s`.
    """
    start_s = last_reply_s = now()
    jobs.restart_waiting(start_s)
    deadline = start_s + span_s(timeout)
    job_span_s = span_s(job_timeout, "job_timeout")
    pause = wait_s = 0.0  # the broker answers the first query without waiting, so that progress is shown immediately
    yield from jobs.take_outcomes()
    while waiting := jobs.waiting():
        asked_s = now()
        oldest_s = min(job.since_s for job in waiting)
        next_deadline = min(deadline, oldest_s + job_span_s)
        outcomes: list[Evaluation] = []
        try:
            answer_timeout_s = _answer_timeout_s(now(), min(next_deadline, last_reply_s + silence_s))
            found = yield from statuses(
                [job.seq for job in waiting], answer_timeout_s, min(wait_s, next_deadline - now())
            )
            last_reply_s = now()
            over = jobs.update(found)
            labels = [job.label for job in over if job.seq in found]
            answer_timeout_s = _answer_timeout_s(now(), min(next_deadline, last_reply_s + silence_s))
            rows = yield from rows_of(jobs.run, labels, answer_timeout_s, with_samples)
            last_reply_s = now()
            finished = (jobs.finish(job, rows.get(job.label), known=job.seq in found) for job in over)
            outcomes += [outcome for outcome in finished if outcome]
        except BrokerUnreachable as error:
            if now() >= last_reply_s + silence_s:
                outcomes += [jobs.give_up(job, str(error)) for job in jobs.waiting()]
        for job in jobs.waiting():
            if now() >= deadline:
                outcomes.append(jobs.give_up(job, _timeout_text(job, timeout)))
            elif now() >= job.since_s + job_span_s:
                outcomes.append(jobs.give_up(job, _timeout_text(job, job_timeout)))
        jobs.add_outcomes(outcomes)
        if progress is not None:
            progress(jobs.tally(now() - start_s))
        yield from jobs.take_outcomes()
        wait_s = STATUS_WAIT_S
        if left := len(jobs.waiting()):
            slowest = POLL_S_MAX + POLL_S_PER_JOB * left
            pause = POLL_S_MIN + POLL_S_PER_JOB * left if outcomes else min(max(1.5 * pause, POLL_S_MIN), slowest)
            # If the broker delayed its answer, the pause has already passed since the query was sent.
            since_s = now() if outcomes else asked_s
            yield Sleep(max(0.0, min(since_s + pause, next_deadline) - now()))


PENDING_CELLS: dict[str, Callable[[PendingJob], str]] = {
    "pending": lambda job: job.label,
    "job": lambda job: str(job.seq),
    "state": lambda job: status_text(job.status),
}


class BatchView:
    """The properties that Batch and AsyncBatch share; none of them asks the broker."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    @property
    def run(self) -> str:
        return self._jobs.run

    @property
    def acks(self) -> dict[str, JobAck]:
        """The broker's acknowledgement of each label."""
        return dict(self._jobs.acks)

    @property
    def pending(self) -> list[PendingJob]:
        """The jobs that are not finished, with their status at the broker's last answer, timed-out jobs included."""
        return self._jobs.pending

    def __len__(self) -> int:
        return len(self._jobs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.run!r}: {self._jobs.tally()}>"

    def _repr_html_(self) -> str:
        """Returns HTML for notebooks: the batch's progress and its pending jobs."""
        line = f"<p>{escape(self.run)}: {escape(str(self._jobs.tally()))}</p>"
        return line + (html_table(self.pending, PENDING_CELLS) if self.pending else "")


def silence_of(timeout: float | None) -> float:
    """Returns how many seconds of silence a wait with this timeout tolerates: never fewer than its caller grants."""
    return SILENCE_S if timeout is None else max(SILENCE_S, timeout)


def _answer_timeout_s(now_s: float, end_s: float) -> float:
    """Returns how many seconds to wait for the next answer: until `end_s`, from FINAL_QUERY_S to SILENCE_S."""
    return max(min(end_s - now_s, SILENCE_S), FINAL_QUERY_S)


def _timeout_text(job: PendingJob, timeout: float | None) -> str:
    return f"{job.label}: not finished within {round(timeout or 0, 1):g} s; the job goes on ({status_text(job.status)})"
