"""The client for scripts and notebooks. Each call blocks until the broker has answered."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import zmq

from kq.calls import batch, operations, replaced
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
from kq.connection.submitter import run_of, submitter_name
from kq.errors import BrokerUnreachable, Error, GaveUp
from kq.evaluation import EVALUATE_TIMEOUT_S, Evaluation, GivenProblem, Order, Reward, Source, order_of
from kq.records.arguments import EvaluateFields, RewardFields
from kq.records.jobs import RunRow
from kq.records.submission import Submission
from kq.records.validate import span_s
from kq.tables.html import Board, Evaluations, Rows
from kq.wire.messages import BrokerReply, JobAck, JobStatus, Reply, Request
from kq.wire.queue_messages import JobAction

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
E = TypeVar("E")

POLL_TIMEOUT_S = 30.0
LOCK_CHECK_S = 0.05  # how often a thread that waits for a delayed answer checks whether other threads need the socket


class Client:
    """A client of one broker. Threads may share it. ZeroMQ connects in the background and again after each loss."""

    def __init__(self, url: str | None = None, key: str | Path | None = None, *, submitter: str | None = None) -> None:
        """Prepares a connection; raises BadInput for a wrong URL, key or submitter.

        `url` is the broker's URL; the default is KQ_BROKER, else that of a running `kq up` or `kq sweep` of this user,
        else the default URL of kq-broker. `key` is the path of a key file; the default is KQ_KEY, else no key.
        `submitter` is the name whose share and quota the jobs use; the default is KQ_SUBMITTER, else user@host. The
        broker uses the name in the key instead, if there is a key.
        """
        self.url = broker_url(url)
        self.submitter = submitter_name(submitter)
        self._key = secret = given_key(key)
        self._lock = threading.Lock()
        # One entry for each thread that waits for the lock. A list, because append() and pop() are atomic.
        self._lock_waiters: list[None] = []
        self._submits = ThreadCoalescer(
            lambda run, submissions, timeout: self._run(
                replaced.submit(run, submissions, self.submitter, timeout, time.monotonic)
            )
        )
        self._last_request_id = 0
        self._connection = Connection(self, zmq.Context(), self.url, secret)
        self._socket, self._handshake = self._connection.socket, self._connection.handshake

    def submit(self, run: str, submissions: Iterable[Submission], timeout: float | None = None) -> list[JobAck]:
        """Submits jobs, in as many messages as needed, and returns one JobAck per submission, in order.

        A job whose ack is accepted or reused is on the broker's disk. The `reason` of a refused ack says why. After any
        error the same call may be repeated; jobs that the broker already has are not queued twice. Jobs that a busy
        broker does not accept are sent again; after `timeout` seconds submit() raises GaveUp. Jobs that several threads
        submit at the same time share messages. Where the run has a row with the label of a submission and another
        problem, it is replaced, with a warning.
        """
        self._connection.check()  # before any lock is taken: after a fork the thread that held the lock may not exist
        return self._submits.submit(run, operations.checked(run, submissions, self.submitter), timeout)

    def wait(self, seqs: Sequence[int], timeout: float | None = None) -> list[JobStatus]:
        """Waits until all these jobs are finished and returns their statuses in the same order.

        After `timeout` seconds wait() raises GaveUp, whose `pending` lists the unfinished jobs.
        """
        return self._run(operations.wait(seqs, timeout, time.monotonic))

    def poll(self, seqs: Sequence[int], timeout: float = POLL_TIMEOUT_S) -> list[JobStatus]:
        """Waits until any of these jobs is finished, or for `timeout` seconds; returns the statuses of all of them."""
        return self._run(operations.wait(seqs, timeout, time.monotonic, first=True))

    def submit_many(self, run: str, submissions: Iterable[Submission], timeout: float | None = None) -> Batch:
        """Submits any number of jobs from a list or a generator and returns a Batch, which waits for them.

        After any error, including GaveUp after `timeout` seconds, the same call may be repeated; jobs that the broker
        already has are not queued twice.
        """
        jobs = Jobs(run)
        self._run(batch.submit_many(jobs, submissions, self.submitter, timeout, time.monotonic))
        return Batch(self, jobs)

    def evaluate(
        self,
        source: Source,
        *,
        problem: GivenProblem,
        timeout: float | None = EVALUATE_TIMEOUT_S,
        **arguments: Unpack[EvaluateFields],
    ) -> Evaluation:
        """Submits one source, waits for its verdict and returns the Evaluation with times and reward.

        `arguments` are those of EvaluateFields, as AsyncClient.evaluate() describes them.
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
        **arguments: Unpack[EvaluateFields],
    ) -> Evaluations:
        """Evaluates many sources together and returns one Evaluation per source, in order.

        `problem` is one problem for all sources, or a sequence with one for each. The call returns after `timeout`
        seconds at the latest; a job that is not finished by then, or `job_timeout` seconds after the broker accepted
        it, has an infra_error. Equal sources are evaluated once.
        """
        return self._evaluations(
            order_of(sources, problem=problem, **arguments), timeout, job_timeout, progress_of(progress)
        )

    def reward(self, kernel: Source, problem: GivenProblem, **arguments: Unpack[RewardFields]) -> Reward:
        """Evaluates one kernel and returns (value, infra_error); see Evaluation.reward."""
        return self.evaluate(kernel, problem=problem, **arguments).as_reward()

    def cancel(self, seqs: Iterable[int]) -> list[JobAction]:
        """Cancels queued or running jobs of this submitter. A job that others submitted too goes on for them."""
        return self._run(operations.cancel(seqs))

    def share(self, run: str, names: Iterable[str], shared: bool = True) -> None:
        """Lets the holders of other keys add rows to a run and read its files; with shared=False no longer."""
        self._run(operations.share(run, names, shared))

    def sources(self, run: str, label: str) -> dict[str, bytes]:
        """Returns the source files of a row by name. With keys, they are for its submitter and for shared runs."""
        return self._run(operations.sources(run, label))

    def results(self, run: str, with_samples: bool = False) -> Rows:
        """Returns the rows of a run in label order. Unfinished jobs have no result.

        Raises NotFound for an unknown run.
        """
        return Rows(operations.known(run, self._run(operations.results(run, with_samples))))

    def each_row(self, run: str, with_samples: bool = False) -> Iterator[RunRow]:
        """Yields the rows that results() returns, with only one page of them in memory.

        Raises NotFound for an unknown run when the first row is asked for.
        """
        after: str | None = ""
        while after is not None:
            reply = self._run(operations.page(run, after, with_samples))
            yield from reply.rows if after else operations.known(run, reply.rows)
            after = operations.next_page(reply)

    def leaderboard(self) -> Board:
        """Returns the best row of each problem on each device model."""
        return Board(self._run(operations.leaderboard()))

    def status(self) -> BrokerReply:
        """Returns the broker's version, the numbers of queued and leased jobs, and the connected workers."""
        return self._run(operations.status())

    def close(self) -> None:
        """Closes the connection. A later call raises Error."""
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
        """Submits the order's submissions, waits for them, and returns one Evaluation per source."""
        span_s(job_timeout, "job_timeout")
        start_s, jobs, failure = time.monotonic(), Jobs(run_of(order.run, self._key)), ""
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
        """Drives an operation to its end and returns its result."""
        try:
            next(self._each(operation))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        raise AssertionError("an operation without outcomes yielded one")

    def _each(self, operation: Generator[Ask | Sleep | E, Any, T]) -> Generator[E, None, T]:
        """Drives an operation: answers each Ask, sleeps for each Sleep, and yields everything else to the caller."""
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
        """Returns the reply to a request; sends the request again, with the same number, until the reply arrives.

        Every request may be repeated. One thread at a time uses the socket.
        """
        deadline = time.monotonic() + timeout_s
        self._connection.check()
        self._lock_waiters.append(None)
        try:
            if not self._lock.acquire(timeout=timeout_s):  # another thread used the socket for the whole timeout
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
            sent_over = self._handshake.connection_count()
            while now < deadline:
                if self._handshake.connection_count() != sent_over:
                    sent_over, send_at = self._handshake.connection_count(), now
                # If other threads wait for the socket, the request is sent again, to be answered immediately.
                if self._lock_waiters and broker_wait_s(request):
                    request = without_wait(request)
                    data, send_at = encoded(request_id, request), now
                if now >= send_at:
                    send_at = now + (resend_s(data, request) if self._send(data) else RETRY_S)
                look_at = now + LOCK_CHECK_S if broker_wait_s(request) else deadline
                if self._socket.poll(math.ceil(max(0.0, min(send_at, deadline, look_at) - now) * 1_000)):
                    arrived = decoded(self.url, self._socket.recv_multipart())
                    if arrived and (arrived[0] == request_id or is_refusal_of_unreadable(*arrived)):
                        return arrived[1]  # type: ignore[no-any-return]
                    # Else the message answers an earlier request, whose caller has given up.
                elif reason := self._handshake.refusal_reason():
                    raise refused(self.url, reason)
                now = time.monotonic()
        except zmq.ZMQError:
            self._connection.check()  # raises "the client was closed" if another thread closed the socket meanwhile
            raise
        finally:
            self._lock.release()
        raise unanswered(self.url, timeout_s)

    def _send(self, data: bytes) -> bool:
        """Returns whether ZeroMQ took the message; it does not while the connection is being made."""
        try:
            self._socket.send(data, zmq.DONTWAIT)
            return True
        except zmq.Again:
            return False


class Batch(BatchView):
    """The jobs of one submit_many() call. Each job has one outcome; `pending` lists the jobs without one."""

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
        """Yields the Evaluation of each job as the job finishes; ends after `timeout` seconds at the latest.

        A job that is not finished by then, or `job_timeout` seconds after the broker accepted it, has an infra_error
        and stays in `pending`; a later as_completed() yields its outcome. `progress` is True for a line on stderr, or a
        function that takes a Tally.
        """
        return self._client._each(
            batch.as_completed(
                self._jobs,
                time.monotonic,
                timeout,
                job_timeout,
                with_samples,
                progress_of(progress),
                batch.silence_of(timeout),
            )
        )

    def cancel(self) -> list[JobAction]:
        """Cancels the pending jobs."""
        return self._client.cancel([job.seq for job in self._jobs.pending])


def reward(
    kernel: Source, problem: GivenProblem, *, url: str | None = None, **arguments: Unpack[RewardFields]
) -> Reward:
    """Calls Client.reward() on a new connection, which is closed afterwards."""
    with Client(url) as client:
        return client.reward(kernel, problem, **arguments)
