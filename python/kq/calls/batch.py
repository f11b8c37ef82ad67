"""Many submissions at once: what became of each, and what is still pending. No socket, and no clock of its own.

Each submission of a batch has exactly one outcome, an Evaluation, whatever happens: it finished, it was refused, the
time was over, or the broker fell silent. What the broker still works on is listed in `pending` all the while, and asking
again goes on where the last time was over.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any

from kq.calls.operations import (
    LAST_LOOK_S,
    NEWS_WAIT_S,
    POLL_S_MAX,
    POLL_S_MIN,
    POLL_S_PER_JOB,
    SILENCE_S,
    Ask,
    Operation,
    Sleep,
    checked,
    each_of,
    rows_of,
    standing,
    statuses,
    submit,
    unknown,
)
from kq.calls.progress import Progress, Tally
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
    """A job that has no outcome yet, as it stood when the broker was last asked."""

    label: str
    seq: int
    since_s: float  # by the client's clock
    status: JobStatus

    def __str__(self) -> str:
        return f"{self.label} (job {self.seq}): {standing(self.status)}"


class Jobs:
    """The jobs of one batch."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.acks: dict[str, JobAck] = {}  # by label
        self._pending: dict[str, PendingJob] = {}
        self._untold: deque[Evaluation] = deque()  # over, or refused: nothing to wait for
        self._given_up: set[str] = set()  # of the pending ones
        self._counts = {"passed": 0, "failed": 0, "infra": 0}

    @property
    def pending(self) -> list[PendingJob]:
        """What the broker still has to finish, as far as is known here."""
        return list(self._pending.values())

    def __len__(self) -> int:
        return len(self.acks)

    def tally(self, elapsed_s: float = 0.0) -> Tally:
        waiting = [job for label, job in self._pending.items() if label not in self._given_up]
        running = sum(job.status.state is JobState.LEASED for job in waiting)
        counts = dict(self._counts)
        counts["infra"] += len(self._given_up)
        return Tally(len(self), running, len(waiting) - running, **counts, elapsed_s=elapsed_s)

    def add(self, submissions: Sequence[Submission], acks: Sequence[JobAck], now_s: float) -> None:
        for submission, ack in zip(submissions, acks, strict=True):
            label = submission.label
            self.acks[label] = ack
            if ack.acceptance is Acceptance.REFUSED:
                self._untold.append(self._lost(label, 0, f"the broker refused it: {ack.reason}"))
            else:
                self._pending[label] = PendingJob(label, ack.seq, now_s, JobStatus(ack.seq, ack.state))

    def told(self) -> Iterator[Evaluation]:
        """Each outcome once, whenever whoever asked for them went away."""
        while self._untold:
            yield self._untold.popleft()

    def tell(self, outcomes: Sequence[Evaluation]) -> None:
        self._untold += outcomes

    def wait_again(self, now_s: float) -> None:
        """What was given up before has a new time."""
        for label in self._given_up:
            self._pending[label].since_s = now_s
        self._given_up.clear()
        self._untold = deque(outcome for outcome in self._untold if outcome.label not in self._pending)

    def waiting(self) -> list[PendingJob]:
        return [job for label, job in self._pending.items() if label not in self._given_up]

    def update(self, found: dict[int, JobStatus]) -> list[PendingJob]:
        """Those that are finished by now, or unknown to the broker."""
        for job in self.waiting():
            job.status = found.get(job.seq, job.status)
        return [job for job in self.waiting() if job.seq not in found or job.status.state is JobState.FINISHED]

    def settle(self, job: PendingJob, row: RunRow | None, *, known: bool) -> Evaluation | None:
        """The outcome of a job that is over, or nothing where it was queued again."""
        if not known:
            outcome = self._lost(job.label, job.seq, unknown(job.seq))
        elif row is None:
            outcome = self._lost(job.label, job.seq, "the broker has no row of it any more")
        elif row.entry.seq != job.seq:
            outcome = self._lost(job.label, job.seq, f"this label of run '{self.run}' stands for another job by now")
        elif row.result is None:
            return None
        else:
            outcome = Evaluation(self.run, job.label, job.seq, row)
            self._counts["infra" if outcome.reward is None else "passed" if outcome.passed else "failed"] += 1
        del self._pending[job.label]
        return outcome

    def lose(self, job: PendingJob, failure: str) -> Evaluation:
        """No more is heard of it for now. It stays pending: the broker may well go on with it."""
        self._given_up.add(job.label)
        return Evaluation(self.run, job.label, job.seq, failure=failure)

    def _lost(self, label: str, seq: int, failure: str) -> Evaluation:
        self._counts["infra"] += 1
        return Evaluation(self.run, label, seq, failure=f"{label}: {failure}")


def submit_many(
    jobs: Jobs, submissions: Iterable[Submission], submitter: str, timeout: float | None, now: Clock
) -> Operation[None]:
    """Hands over as many at a time as fit into a message.

    A sequence is checked before anything is sent, what comes from a generator when its turn comes: so there may be any
    number of them.
    """
    deadline = now() + span_s(timeout)
    if isinstance(submissions, Sequence):
        checked(jobs.run, submissions, submitter)
    rest = each_of(submissions)
    while chunk := list(islice(rest, SUBMIT_JOBS_MAX)):
        for submission in chunk:
            if submission.label in jobs.acks:
                raise BadInput(f"{submission.label}: this label is given twice; labels are unique inside a run")
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
) -> Outcomes:
    """Yields the outcome of each job that has none, as they come; of all after `timeout` seconds at the latest.

    A job that is not finished `job_timeout` seconds after the broker took it has a failure for its outcome, and so has
    what is left when the broker has been silent for SILENCE_S.
    """
    start_s = heard_s = now()
    jobs.wait_again(start_s)
    deadline = start_s + span_s(timeout)
    job_span_s = span_s(job_timeout, "job_timeout")
    pause = wait_s = 0.0  # the first answer comes at once, for whoever shows how far it is
    yield from jobs.told()
    while waiting := jobs.waiting():
        asked_s = now()
        oldest_s = min(job.since_s for job in waiting)
        until = min(deadline, oldest_s + job_span_s)
        outcomes: list[Evaluation] = []
        try:
            patience = _patience(now(), until, heard_s)
            found = yield from statuses([job.seq for job in waiting], patience, min(wait_s, until - now()))
            heard_s = now()
            over = jobs.update(found)
            labels = [job.label for job in over if job.seq in found]
            rows = yield from rows_of(jobs.run, labels, _patience(now(), until, heard_s), with_samples)
            heard_s = now()
            settled = (jobs.settle(job, rows.get(job.label), known=job.seq in found) for job in over)
            outcomes += [outcome for outcome in settled if outcome]
        except BrokerUnreachable as error:
            if now() >= heard_s + SILENCE_S:
                outcomes += [jobs.lose(job, str(error)) for job in jobs.waiting()]
        for job in jobs.waiting():
            if now() >= deadline:
                outcomes.append(jobs.lose(job, _late(job, timeout)))
            elif now() >= job.since_s + job_span_s:
                outcomes.append(jobs.lose(job, _late(job, job_timeout)))
        jobs.tell(outcomes)
        if progress is not None:
            progress(jobs.tally(now() - start_s))
        yield from jobs.told()
        wait_s = NEWS_WAIT_S
        if left := len(jobs.waiting()):
            slowest = POLL_S_MAX + POLL_S_PER_JOB * left
            pause = POLL_S_MIN + POLL_S_PER_JOB * left if outcomes else min(max(1.5 * pause, POLL_S_MIN), slowest)
            since_s = now() if outcomes else asked_s  # a broker that waited for news has been asked long ago
            yield Sleep(max(0.0, min(since_s + pause, until) - now()))


PENDING_CELLS: dict[str, Callable[[PendingJob], str]] = {
    "pending": lambda job: job.label,
    "job": lambda job: str(job.seq),
    "state": lambda job: standing(job.status),
}


class BatchView:
    """What Batch and AsyncBatch tell without asking the broker."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    @property
    def run(self) -> str:
        return self._jobs.run

    @property
    def acks(self) -> dict[str, JobAck]:
        """What the broker said of each label."""
        return dict(self._jobs.acks)

    @property
    def pending(self) -> list[PendingJob]:
        """The jobs without an outcome as they stood when the broker was last asked, and those that were late."""
        return self._jobs.pending

    def __len__(self) -> int:
        return len(self._jobs)

    def _repr_html_(self) -> str:
        """For notebooks: how far it has come, and what is pending."""
        line = f"<p>{escape(self.run)}: {escape(str(self._jobs.tally()))}</p>"
        return line + (html_table(self.pending, PENDING_CELLS) if self.pending else "")


def _patience(now_s: float, until: float, heard_s: float) -> float:
    """How long to wait for an answer: to the end of the time or of the silence that is borne; a last look is taken."""
    return max(min(until, heard_s + SILENCE_S) - now_s, LAST_LOOK_S)


def _late(job: PendingJob, timeout: float | None) -> str:
    return f"{job.label}: not finished within {timeout:g} s; it goes on ({standing(job.status)})"
