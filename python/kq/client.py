"""The client for scripts and notebooks: each call returns when the broker has answered."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import zmq

from kq.calls import batch, operations
from kq.calls.batch import BatchView, Jobs
from kq.calls.coalesce import ThreadCoalescer
from kq.calls.operations import Ask, Operation, Sleep
from kq.calls.progress import Progress, progress_of
from kq.connection.key import given_key
from kq.connection.link import (
    RETRY_S,
    Connection,
    broker_url,
    broker_wait_s,
    decoded,
    encoded,
    is_refusal_of_unreadable,
    refused,
    resend_s,
    unanswered,
    without_wait,
)
from kq.connection.submitter import submitter_name
from kq.errors import BrokerUnreachable, Error, GaveUp
from kq.evaluation import EVALUATE_TIMEOUT_S, Evaluation, GivenProblem, Order, Reward, Source, order_of
from kq.records.jobs import RunRow
from kq.records.submission import Submission
from kq.records.validate import span_s
from kq.tables.html import Board, Evaluations, Rows
from kq.wire.messages import BrokerReply, JobAck, JobStatus, Reply, Request
from kq.wire.queue_messages import JobAction

T = TypeVar("T")
E = TypeVar("E")

POLL_TIMEOUT_S = 30.0
LOCK_CHECK_S = 0.05  # how often a thread whose answer may wait looks whether others have something to ask


class Client:
    """A connection to a broker, made when it is first needed and again after each loss. Threads may share it."""

    def __init__(self, url: str | None = None, key: str | Path | None = None, *, submitter: str | None = None) -> None:
        """`url`: the broker's, else KQ_BROKER, else the default of kq-broker. `key`: your file, else KQ_KEY, else none.

        `submitter`: whose share and quota the jobs count against, else KQ_SUBMITTER, else user@host; a key's name stands
        above all of these.
        """
        self.url = broker_url(url)
        self.submitter = submitter_name(submitter)
        secret = given_key(key)
        self._lock = threading.Lock()
        self._lock_waiters: list[
            None
        ] = []  # one for each thread that waits for the lock; a list, whose changes are atomic
        self._submits = ThreadCoalescer(
            lambda run, submissions, timeout: self._run(
                operations.submit(run, submissions, self.submitter, timeout, time.monotonic)
            )
        )
        self._last_request_id = 0
        self._connection = Connection(self, zmq.Context(), self.url, secret)
        self._socket, self._handshake = self._connection.socket, self._connection.handshake

    def submit(self, run: str, submissions: Iterable[Submission], timeout: float | None = None) -> list[JobAck]:
        """Hands the jobs over, in as many batches as needed: one JobAck per submission, in order.

        What an accepted or reused ack says is on the broker's disk. A refused one says why in `reason`. After any
        error, submitting the same again goes on where it stopped. What a busy broker has no room for is sent again until
        it takes it; GaveUp after `timeout` seconds of that. What threads submit at the same time shares batches.
        """
        self._connection.check()  # before any lock: in a fork nobody may be left to open it
        return self._submits.submit(run, operations.checked(run, submissions, self.submitter), timeout)

    def wait(self, seqs: Sequence[int], timeout: float | None = None) -> list[JobStatus]:
        """Returns when all these jobs are finished, in the order asked.

        After `timeout` seconds it raises GaveUp, whose `pending` lists those that are not.
        """
        return self._run(operations.wait(seqs, timeout, time.monotonic))

    def poll(self, seqs: Sequence[int], timeout: float = POLL_TIMEOUT_S) -> list[JobStatus]:
        """Returns when any of these jobs is finished, or after `timeout` seconds: where all of them stand."""
        return self._run(operations.wait(seqs, timeout, time.monotonic, first=True))

    def submit_many(self, run: str, submissions: Iterable[Submission], timeout: float | None = None) -> Batch:
        """As submit(), for any number of jobs, from a list or a generator; what comes back waits for them.

        After any error, GaveUp after `timeout` seconds among them, submitting the same again goes on where it stopped.
        """
        jobs = Jobs(run)
        self._run(batch.submit_many(jobs, submissions, self.submitter, timeout, time.monotonic))
        return Batch(self, jobs)

    def evaluate(
        self, source: Source, *, problem: GivenProblem, timeout: float | None = EVALUATE_TIMEOUT_S, **arguments: Any
    ) -> Evaluation:
        """Submits one source, waits for its verdict and returns it with its figures and its reward.

        `arguments` are those of AsyncClient.evaluate().
        """
        return self._evaluations(order_of([source], problem=problem, **arguments), timeout, None, None)[0]

    def evaluate_many(
        self,
        sources: Sequence[Source],
        *,
        problem: GivenProblem | Sequence[GivenProblem],
        timeout: float | None = EVALUATE_TIMEOUT_S,
        job_timeout: float | None = None,
        progress: bool | Progress | None = None,
        **arguments: Any,
    ) -> Evaluations:
        """evaluate() for many sources at once, against one problem or one for each: an Evaluation for each, in order.

        It returns after `timeout` seconds at the latest, with what is there by then; a job counts as late `job_timeout`
        seconds after the broker took it. Equal sources are evaluated once.
        """
        return self._evaluations(
            order_of(sources, problem=problem, **arguments), timeout, job_timeout, progress_of(progress)
        )

    def reward(self, kernel: Source, problem: GivenProblem, **arguments: Any) -> Reward:
        """(value, infra_error): what a learner gets for a kernel, or why that is not known. See Evaluation.reward."""
        return self.evaluate(kernel, problem=problem, **arguments).as_reward()

    def cancel(self, seqs: Iterable[int]) -> list[JobAction]:
        """Ends jobs, queued or running, of this submitter; what is finished stays so."""
        return self._run(operations.cancel(seqs))

    def results(self, run: str, with_samples: bool = False) -> Rows:
        """The rows of a run in label order; those of unfinished jobs have no result. None for a run that never was."""
        return Rows(self._run(operations.results(run, with_samples)))

    def each_row(self, run: str, with_samples: bool = False) -> Iterator[RunRow]:
        """results() for runs of any size: a page at a time is in memory."""
        after: str | None = ""
        while after is not None:
            reply = self._run(operations.page(run, after, with_samples))
            yield from reply.rows
            after = operations.next_page(reply)

    def leaderboard(self) -> Board:
        """The best row of each problem on each device model."""
        return Board(self._run(operations.leaderboard()))

    def status(self) -> BrokerReply:
        """The broker's version, how many jobs are queued and leased, and its workers."""
        return self._run(operations.status())

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _evaluations(
        self, order: Order, timeout: float | None, job_timeout: float | None, progress: Progress | None
    ) -> Evaluations:
        span_s(job_timeout, "job_timeout")
        start_s, jobs, failure = time.monotonic(), Jobs(order.run), ""
        submissions = list(order.submissions.values())
        try:
            self._run(batch.submit_many(jobs, submissions, self.submitter, timeout, time.monotonic))
        except (BrokerUnreachable, GaveUp) as error:
            failure = str(error)
        left = None if timeout is None else max(0.0, start_s + timeout - time.monotonic())
        for one in self._each(batch.as_completed(jobs, time.monotonic, left, job_timeout, progress=progress)):
            order.add_outcome(one)
        order.fail(failure)
        return Evaluations(order.evaluations())

    def _run(self, operation: Operation[T]) -> T:
        try:
            next(self._each(operation))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        raise AssertionError("an operation without outcomes yielded one")

    def _each(self, operation: Generator[Ask | Sleep | E, Any, T]) -> Generator[E, None, T]:
        """Does what the operation asks for, and yields whatever else it yields."""
        answer: Reply | None = None
        error: Error | None = None
        while True:
            try:
                step = operation.send(answer) if error is None else operation.throw(error)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            answer = error = None
            if isinstance(step, Ask):
                try:
                    answer = self._ask(step.request, step.timeout_s)
                except Error as failed:
                    error = failed
            elif isinstance(step, Sleep):
                time.sleep(step.seconds)
            else:
                yield step

    def _ask(self, request: Request, timeout_s: float) -> Reply:
        """Sends the request again with the same number until its reply is here: every request may be repeated."""
        deadline = time.monotonic() + timeout_s
        self._connection.check()
        self._lock_waiters.append(None)
        try:
            if not self._lock.acquire(timeout=timeout_s):  # another thread has been waiting for an answer all the while
                raise unanswered(self.url, timeout_s)
        finally:
            self._lock_waiters.pop()
        try:
            self._connection.check()
            self._handshake.reconnect_if_refused()
            self._last_request_id += 1
            request_id = self._last_request_id
            data = encoded(request_id, request)
            now = time.monotonic()
            send_at = now
            while now < deadline:
                if self._lock_waiters and broker_wait_s(
                    request
                ):  # other threads have something to ask: the answer is wanted now
                    request = without_wait(request)
                    data, send_at = encoded(request_id, request), now
                if now >= send_at:
                    send_at = now + (resend_s(data, request) if self._send(data) else RETRY_S)
                look_at = now + LOCK_CHECK_S if broker_wait_s(request) else deadline
                if self._socket.poll(math.ceil(max(0.0, min(send_at, deadline, look_at) - now) * 1_000)):
                    arrived = decoded(self.url, self._socket.recv_multipart())
                    if arrived and (arrived[0] == request_id or is_refusal_of_unreadable(*arrived)):
                        return arrived[1]  # type: ignore[no-any-return]
                    # else a late answer to an earlier request: whoever asked has given up on it
                elif reason := self._handshake.refusal_reason():
                    raise refused(self.url, reason)
                now = time.monotonic()
        except zmq.ZMQError:
            self._connection.check()  # another thread has closed it meanwhile
            raise
        finally:
            self._lock.release()
        raise unanswered(self.url, timeout_s)

    def _send(self, data: bytes) -> bool:
        try:
            self._socket.send(data, zmq.DONTWAIT)
            return True
        except zmq.Again:
            return False


class Batch(BatchView):
    """What submit_many() handed over. Each of its jobs has one outcome, and what has none yet is in `pending`."""

    def __init__(self, client: Client, jobs: Jobs) -> None:
        super().__init__(jobs)
        self._client = client

    def as_completed(
        self,
        timeout: float | None = None,
        job_timeout: float | None = None,
        *,
        progress: bool | Progress | None = None,
        with_samples: bool = False,
    ) -> Iterator[Evaluation]:
        """Yields the Evaluation of each job as it comes; of all of them after `timeout` seconds at the latest.

        What is late then, or `job_timeout` seconds after the broker took it, has an infra_error and stays in `pending`:
        ask again for what it became. `progress` is True for a line on stderr, or a function that is given a Tally.
        """
        return self._client._each(
            batch.as_completed(self._jobs, time.monotonic, timeout, job_timeout, with_samples, progress_of(progress))
        )

    def cancel(self) -> list[JobAction]:
        """Ends what is pending."""
        return self._client.cancel([job.seq for job in self._jobs.pending])


def reward(kernel: Source, problem: GivenProblem, *, url: str | None = None, **arguments: Any) -> Reward:
    """Client.reward() on a connection of its own: for one kernel now and then."""
    with Client(url) as client:
        return client.reward(kernel, problem, **arguments)
