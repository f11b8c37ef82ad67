"""The client for asyncio. Any number of tasks of one event loop may share it.

One task receives all replies and hands each to the future of its request. Requests to the broker are limited by two
semaphores: one for requests that the broker answers immediately, one for status queries whose answer may wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import zmq
import zmq.asyncio

from kq.calls import batch, operations, replaced
from kq.calls.batch import BatchView, Jobs, Outcomes, PendingJob
from kq.calls.coalesce import TaskCoalescer
from kq.calls.operations import Ask, Operation, Sleep, status_text
from kq.calls.progress import Progress, progress_of
from kq.calls.watch import Watch
from kq.client import POLL_TIMEOUT_S
from kq.connection.handshake import HandshakeMonitor
from kq.connection.key import given_key
from kq.connection.link import (
    RECONNECT_CHECK_S,
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
from kq.connection.submitter import DefaultRun, run_of, submitter_name
from kq.errors import BadInput, BrokerUnreachable, Error, GaveUp
from kq.evaluation import EVALUATE_TIMEOUT_S, Evaluation, GivenProblem, Reward, Source, order_of
from kq.records.arguments import EvaluateFields, RewardFields, SubmissionFields
from kq.records.jobs import RunRow
from kq.records.submission import Backend, Submission
from kq.records.validate import span_s
from kq.tables.html import Board, Evaluations, Rows
from kq.wire.messages import Acceptance, BrokerReply, JobAck, JobStatus, Reply, Request
from kq.wire.queue_messages import JobAction

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")

IN_FLIGHT_MAX = 64  # requests in flight; the broker keeps at most 256 replies per peer
WAITING_QUERIES_MAX = 128  # status queries in flight whose answer the broker may hold back


class AsyncClient:
    """A client of one broker for one event loop. Any number of its calls may be awaited at the same time."""

    def __init__(self, url: str | None = None, key: str | Path | None = None, *, submitter: str | None = None) -> None:
        """Takes the arguments of Client(). The socket is opened by the first call, in the event loop of that call."""
        self.url = broker_url(url)
        self.submitter = submitter_name(submitter)
        self._key = given_key(key)
        self._connection: Connection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # the event loop that the connection belongs to
        self._receiver: asyncio.Task[None] | None = None
        self._replies: dict[int, asyncio.Future[Reply]] = {}
        self._last_request_id = 0
        self._in_flight = asyncio.Semaphore(IN_FLIGHT_MAX)
        self._waiting_queries = asyncio.Semaphore(WAITING_QUERIES_MAX)
        self._submits = TaskCoalescer(self._submit)
        self._watch = Watch(self._run)
        self._evaluating: dict[int, PendingJob] = {}

    @property
    def pending(self) -> list[PendingJob]:
        """The jobs of awaited evaluate() calls, with their status at the broker's last answer.

        The job number is 0 until the broker has accepted the job.
        """
        return [self._seen(job) for job in self._evaluating.values()]

    async def submit(self, run: str, submissions: Iterable[Submission], timeout: float | None = None) -> list[JobAck]:
        """See Client.submit(). Jobs that several tasks submit at the same time share messages."""
        return await self._submits.submit(run, operations.checked(run, submissions, self.submitter), timeout)

    async def wait(self, seqs: Sequence[int], timeout: float | None = None) -> list[JobStatus]:
        """See Client.wait()."""
        return await self._run(operations.wait(seqs, timeout, asyncio.get_running_loop().time))

    async def results(self, run: str, with_samples: bool = False) -> Rows:
        """See Client.results()."""
        return Rows(operations.known(run, await self._run(operations.results(run, with_samples))))

    async def each_row(self, run: str, with_samples: bool = False) -> AsyncIterator[RunRow]:
        """See Client.each_row()."""
        after: str | None = ""
        while after is not None:
            reply = await self._run(operations.page(run, after, with_samples))
            for row in reply.rows if after else operations.known(run, reply.rows):
                yield row
            after = operations.next_page(reply)

    async def leaderboard(self) -> Board:
        """See Client.leaderboard()."""
        return Board(await self._run(operations.leaderboard()))

    async def status(self) -> BrokerReply:
        """See Client.status()."""
        return await self._run(operations.status())

    async def poll(self, seqs: Sequence[int], timeout: float = POLL_TIMEOUT_S) -> list[JobStatus]:
        """See Client.poll()."""
        return await self._run(operations.wait(seqs, timeout, asyncio.get_running_loop().time, first=True))

    async def submit_many(
        self, run: str, submissions: Iterable[Submission], timeout: float | None = None
    ) -> AsyncBatch:
        """See Client.submit_many()."""
        jobs = Jobs(run)
        clock = asyncio.get_running_loop().time
        await self._run(batch.submit_many(jobs, submissions, self.submitter, timeout, clock))
        return AsyncBatch(self, jobs)

    async def cancel(self, seqs: Iterable[int]) -> list[JobAction]:
        """See Client.cancel()."""
        return await self._run(operations.cancel(seqs))

    async def share(self, run: str, names: Iterable[str], shared: bool = True) -> None:
        """See Client.share()."""
        await self._run(operations.share(run, names, shared))

    async def sources(self, run: str, label: str) -> dict[str, bytes]:
        """See Client.sources()."""
        return await self._run(operations.sources(run, label))

    async def evaluate(
        self,
        source: Source,
        *,
        problem: GivenProblem,
        backend: Backend | str | None = None,
        timeout: float | None = EVALUATE_TIMEOUT_S,
        contract: Mapping[str, Any] | str | None = None,
        run: str = DefaultRun("evaluate"),  # noqa: B008
        label: str = "",
        fresh: bool = False,
        **fields: Unpack[SubmissionFields],
    ) -> Evaluation:
        """Submits one source, waits for its verdict and returns the Evaluation with times and reward.

        The call raises BadInput for a mistake of the caller and no other error. Every other failure, including the end
        of `timeout` seconds, is the Evaluation's `infra_error`. Equal work is evaluated once, however often it is
        submitted; `fresh` evaluates it again. `source`, `problem`, `backend` and `contract` are the arguments of
        Submission.of(); `fields` are the other fields of a Submission, such as device, gpu_model, trials, author, tags.
        Without a `label` the row's label is made from a hash of the submission.
        """
        span_s(timeout)
        order = order_of(
            [source],
            problem=problem,
            backend=backend,
            contract=contract,
            run=run,
            label=label,
            fresh=fresh,
            **fields,
        )
        for submission in order.submissions.values():
            order.add_outcome(await self._in_time(run_of(run, self._key), submission, timeout))
        return order.evaluations()[0]

    async def evaluate_many(
        self,
        sources: Sequence[Source],
        *,
        problem: GivenProblem | Sequence[GivenProblem],
        timeout: float | None = EVALUATE_TIMEOUT_S,
        job_timeout: float | None = None,
        progress: bool | Progress | None = None,
        **arguments: Unpack[EvaluateFields],
    ) -> Evaluations:
        """See Client.evaluate_many()."""
        span_s(job_timeout, "job_timeout")
        told = progress_of(progress)
        order = order_of(sources, problem=problem, **arguments)
        clock = asyncio.get_running_loop().time
        start_s, jobs, failure = clock(), Jobs(run_of(order.run, self._key)), ""
        submissions = list(order.submissions.values())
        try:
            await self._run(batch.submit_many(jobs, submissions, self.submitter, timeout, clock))
        except (BrokerUnreachable, GaveUp) as error:
            failure = str(error)
        left = None if timeout is None else max(0.0, start_s + timeout - clock())
        outcomes = batch.as_completed(jobs, clock, left, job_timeout, progress=told)
        async for one in self._each(outcomes):
            order.add_outcome(one)
        order.fail(failure)
        return Evaluations(order.evaluations())

    async def reward(self, kernel: Source, problem: GivenProblem, **arguments: Unpack[RewardFields]) -> Reward:
        """See Client.reward()."""
        return (await self.evaluate(kernel, problem=problem, **arguments)).as_reward()

    async def close(self) -> None:
        """Closes the connection and fails all calls that are awaited."""
        self._watch.close()
        if self._receiver is not None:
            self._receiver.cancel()
        self._fail(Error("the client was closed"))
        if self._connection is not None:
            self._connection.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _in_time(self, run: str, submission: Submission, timeout: float | None) -> Evaluation:
        """Evaluates one submission; returns a failure if it is not finished after `timeout` seconds."""
        label = submission.label
        job = PendingJob(label, 0, asyncio.get_running_loop().time(), JobStatus())
        self._evaluating[id(job)] = job
        try:
            return await asyncio.wait_for(self._evaluate(run, submission, job), timeout)
        except asyncio.TimeoutError:
            where = f"the job goes on ({status_text(self._seen(job).status)})" if job.seq else "no broker accepted it"
            return Evaluation(run, label, job.seq, failure=f"{label}: not finished within {timeout:g} s; {where}")
        except BrokerUnreachable as error:
            return Evaluation(run, label, job.seq, failure=str(error))
        finally:
            del self._evaluating[id(job)]

    def _seen(self, job: PendingJob) -> PendingJob:
        """Returns the job with the latest status that the watch has."""
        job.status = self._watch.status(job.seq) or job.status
        return job

    async def _evaluate(self, run: str, submission: Submission, job: PendingJob) -> Evaluation:
        """Submits one submission, waits until it is finished and returns its row; keeps `job` up to date."""
        (ack,) = await self.submit(run, [submission])
        label = submission.label
        job.seq, job.status = ack.seq, JobStatus(ack.seq, ack.state)
        if ack.acceptance is Acceptance.REFUSED:
            return Evaluation(run, label, failure=f"the broker refused it: {ack.reason}")
        while True:
            await self._watch.finished(ack.seq)
            row = await self._run(operations.row(run, label))
            if row is None or row.entry.seq != ack.seq:
                raise BadInput(
                    f"{label}: this label of run '{run}' now names another job; each submission needs its own label"
                )
            if row.result is not None:  # else the job was queued again by another submission
                return Evaluation(run, label, ack.seq, row)

    async def _submit(self, run: str, submissions: list[Submission], timeout: float | None) -> list[JobAck]:
        clock = asyncio.get_running_loop().time
        return await self._run(replaced.submit(run, submissions, self.submitter, timeout, clock))

    async def _run(self, operation: Operation[T]) -> T:
        """Drives an operation to its end and returns its result."""
        answer: Reply | Error | None = None
        while True:
            try:
                step = operation.throw(answer) if isinstance(answer, Error) else operation.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            answer = await self._done(step)

    async def _each(self, operation: Outcomes) -> AsyncIterator[Evaluation]:
        """Drives an operation, and yields its Evaluations to the caller."""
        answer: Reply | Error | None = None
        while True:
            try:
                step = operation.throw(answer) if isinstance(answer, Error) else operation.send(answer)
            except StopIteration:
                return
            answer = None
            if isinstance(step, Evaluation):
                yield step
            else:
                answer = await self._done(step)

    async def _done(self, step: Ask | Sleep) -> Reply | Error | None:
        """Carries out one step: returns the reply to an Ask, or its error; returns None after a Sleep."""
        if isinstance(step, Sleep):
            await asyncio.sleep(step.seconds)
            return None
        try:
            return await self._ask(step.request, step.timeout_s)
        except Error as error:
            return error

    async def _ask(self, request: Request, timeout_s: float) -> Reply:
        """Returns the reply to a request; sends the request again, with the same number, until the reply arrives.

        Every request may be repeated.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        slots = self._in_flight
        if broker_wait_s(request):  # a query whose answer may wait must not take the slot of a short request
            slots = self._waiting_queries
            if slots.locked():
                request, slots = without_wait(request), self._in_flight
        try:
            await asyncio.wait_for(slots.acquire(), timeout_s)
        except asyncio.TimeoutError:  # other requests used all slots for the whole timeout
            raise unanswered(self.url, timeout_s) from None
        try:
            socket, handshake = self._connected()
            handshake.reconnect_if_refused()
            self._last_request_id += 1
            request_id = self._last_request_id
            data = encoded(request_id, request)
            reply: asyncio.Future[Reply] = loop.create_future()
            self._replies[request_id] = reply
            try:
                sent_over, send_at = handshake.connection_count(), loop.time()
                while (left := deadline - loop.time()) > 0:
                    if handshake.connection_count() != sent_over:
                        sent_over, send_at = handshake.connection_count(), loop.time()
                    if loop.time() >= send_at:
                        pause = resend_s(data, request) if await _send(socket, data) else RETRY_S
                        send_at = loop.time() + pause
                    wait = min(send_at - loop.time(), RECONNECT_CHECK_S if broker_wait_s(request) else left, left)
                    done, _ = await asyncio.wait({reply}, timeout=max(wait, 0.0))
                    if done:
                        return reply.result()
                    if reason := handshake.refusal_reason():
                        raise refused(self.url, reason)
            finally:
                del self._replies[request_id]
        finally:
            slots.release()
        raise unanswered(self.url, timeout_s)

    def _connected(self) -> tuple[zmq.asyncio.Socket, HandshakeMonitor]:
        """Returns the socket and its handshake monitor; opens the connection and starts the receiver if needed.

        The connection is not opened in __init__, because a socket belongs to the event loop that runs now.
        """
        loop = asyncio.get_running_loop()
        if self._connection is None:
            self._connection, self._loop = Connection(self, zmq.asyncio.Context(), self.url, self._key), loop
        if self._loop is not loop:
            raise Error("this client belongs to another event loop; make one in each asyncio.run()")
        self._connection.check()
        if self._receiver is None or self._receiver.done():
            self._receiver = asyncio.create_task(self._receive(self._connection.socket))
        return self._connection.socket, self._connection.handshake

    async def _receive(self, socket: zmq.asyncio.Socket) -> None:
        """Receives replies for ever and gives each to the future of its request."""
        while True:
            frames = await socket.recv_multipart()
            try:
                arrived = decoded(self.url, frames)
            except BrokerUnreachable as error:
                self._fail(error)
                continue
            if arrived is None:
                continue
            request_id, reply = arrived
            if is_refusal_of_unreadable(request_id, reply):  # the reply does not say which request the broker means
                self._fail(BadInput(f"the broker refused a request: {reply.reason}"))
            future = self._replies.get(request_id)
            if future is not None and not future.done():
                future.set_result(reply)

    def _fail(self, error: Error) -> None:
        """Fails all requests that wait for a reply."""
        for future in self._replies.values():
            if not future.done():
                future.set_exception(error)
                future.exception()  # marks the error as read: the waiting task may have been cancelled


async def _send(socket: zmq.asyncio.Socket, data: bytes) -> bool:
    """Returns whether ZeroMQ took the message; it does not while the connection is being made."""
    try:
        await socket.send(data, zmq.DONTWAIT)
        return True
    except zmq.Again:
        return False


class AsyncBatch(BatchView):
    """The jobs of one AsyncClient.submit_many() call; see Batch."""

    def __init__(self, client: AsyncClient, jobs: Jobs) -> None:
        super().__init__(jobs)
        self._client = client

    def as_completed(
        self,
        timeout: float | None = None,
        job_timeout: float | None = None,
        *,
        progress: bool | Progress | None = None,
        with_samples: bool = False,
    ) -> AsyncIterator[Evaluation]:
        """See Batch.as_completed(); use it with `async for`."""
        clock = asyncio.get_running_loop().time
        return self._client._each(
            batch.as_completed(
                self._jobs,
                clock,
                timeout,
                job_timeout,
                with_samples,
                progress_of(progress),
                batch.silence_of(timeout),
            )
        )

    async def cancel(self) -> list[JobAction]:
        """Cancels the pending jobs."""
        return await self._client.cancel([job.seq for job in self._jobs.pending])
