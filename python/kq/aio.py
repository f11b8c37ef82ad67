"""The client for asyncio, and the one call that reinforcement learning needs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from uuid import uuid4

import zmq
import zmq.asyncio

from kq import operations
from kq.coalesce import OfTasks
from kq.codec import encode
from kq.errors import BadInput, BadSource, BrokerUnreachable, Error
from kq.evaluation import Evaluation
from kq.hash import Hash
from kq.key import given_key
from kq.limits import NAME_BYTES_MAX
from kq.link import RETRY_S, broker_url, connect, decoded, encoded, refused, refuses_unread, resend_s, unanswered
from kq.messages import Acceptance, BrokerReply, JobAck, JobStatus, Reply, Request
from kq.operations import Ask, Operation
from kq.records import LeaderboardRow, RunRow
from kq.refusal import Refusal
from kq.submission import Backend, Problem, SourceFile, Submission
from kq.submitter import submitter_name
from kq.watch import Watch

T = TypeVar("T")

IN_FLIGHT_MAX = 64  # requests on the wire at once; the broker keeps at most 256 replies per peer


class AsyncClient:
    """A connection to a broker for one event loop. Any number of its calls may be awaited at once."""

    def __init__(self, url: str | None = None, key: str | Path | None = None, *, submitter: str | None = None) -> None:
        """As Client()."""
        self.url = broker_url(url)
        self.submitter = submitter_name(submitter)
        self._key = given_key(key)
        self._refusal: Refusal | None = None
        self._context: zmq.asyncio.Context | None = None
        self._socket: zmq.asyncio.Socket | None = None
        self._receiver: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._last_request_id = 0
        self._in_flight = asyncio.Semaphore(IN_FLIGHT_MAX)
        self._submits = OfTasks(self._submit)
        self._watch = Watch(self._run)

    async def submit(
        self, run: str, submissions: Iterable[Submission], timeout: float | None = None
    ) -> list[JobAck]:
        """As Client.submit(); what tasks submit at the same time shares batches."""
        return await self._submits.submit(run, operations.checked(run, submissions, self.submitter), timeout)

    async def wait(self, seqs: Sequence[int], timeout: float | None = None) -> list[JobStatus]:
        """As Client.wait()."""
        return await self._run(operations.wait(seqs, timeout, asyncio.get_running_loop().time))

    async def results(self, run: str, with_samples: bool = False) -> list[RunRow]:
        """As Client.results()."""
        return await self._run(operations.results(run, with_samples))

    async def leaderboard(self) -> list[LeaderboardRow]:
        """As Client.leaderboard()."""
        return await self._run(operations.leaderboard())

    async def status(self) -> BrokerReply:
        """As Client.status()."""
        return await self._run(operations.status())

    async def evaluate(
        self,
        source: str | Path | Sequence[SourceFile],
        *,
        problem: Problem | str | Path,
        backend: Backend | str,
        timeout: float | None = None,
        contract: Mapping[str, Any] | str | None = None,
        run: str = "evaluate",
        label: str = "",
        fresh: bool = False,
        **fields: Any,
    ) -> Evaluation:
        """Submits one source, waits for its verdict and returns it with its figures; reward() makes a number of it.

        It raises BadInput for what the caller got wrong, and nothing else: what went wrong elsewhere, and the end of
        `timeout` seconds, stand in the Evaluation's `infra_error`. Equal work is evaluated once, however often it is
        asked for; `fresh` has it done again. `source`, `problem` and `contract` are as in Submission.of(), `fields` are
        its other fields: device, gpu_model, trials, author, tags. Without a `label` the row is named after its content.
        """
        try:
            submission = Submission.of(
                source, label=label, problem=problem, backend=backend, contract=contract, **fields
            )
        except BadSource as error:
            return Evaluation(run, label, bad_source=str(error))
        if fresh:
            submission = replace(submission, salt=uuid4().hex)
        if not label:
            submission = replace(submission, label=_label_of(submission))
        try:
            return await asyncio.wait_for(self._evaluate(run, submission), timeout)
        except asyncio.TimeoutError:
            return Evaluation(
                run, submission.label, failure=f"{submission.label}: not finished within {timeout:g} s; it goes on"
            )
        except BrokerUnreachable as error:
            return Evaluation(run, submission.label, failure=str(error))

    async def close(self) -> None:
        self._watch.close()
        if self._receiver is not None:
            self._receiver.cancel()
        self._fail(Error("the client was closed"))
        if self._refusal is not None:
            self._refusal.close()
        if self._socket is not None and self._context is not None:
            self._socket.close()
            self._context.term()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _evaluate(self, run: str, submission: Submission) -> Evaluation:
        (ack,) = await self.submit(run, [submission])
        label = submission.label
        if ack.acceptance is Acceptance.REFUSED:
            return Evaluation(run, label, failure=f"the broker refused it: {ack.reason}")
        await self._watch.finished(ack.seq)
        row = await self._run(operations.row(run, label))
        if row is None or row.entry.seq != ack.seq:
            raise BadInput(
                f"{label}: this label of run '{run}' stands for another job by now; each submission needs its own"
            )
        if row.result is None:
            return Evaluation(run, label, ack.seq, row, failure=f"{label}: was queued again by another submission")
        return Evaluation(run, label, ack.seq, row)

    async def _submit(self, run: str, submissions: list[Submission], timeout: float | None) -> list[JobAck]:
        clock = asyncio.get_running_loop().time
        return await self._run(operations.submit(run, submissions, self.submitter, timeout, clock))

    async def _run(self, operation: Operation[T]) -> T:
        answer: Reply | None = None
        while True:
            try:
                step = operation.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(step, Ask):
                answer = await self._ask(step.request, step.timeout_s)
            else:
                answer = None
                await asyncio.sleep(step.seconds)

    async def _ask(self, request: Request, timeout_s: float) -> Reply:
        """Sends the request again with the same number until its reply is here: every request may be repeated."""
        async with self._in_flight:
            socket, refusal = self._connected()
            refusal.knock_again()
            self._last_request_id += 1
            request_id = self._last_request_id
            data = encoded(request_id, request)
            loop = asyncio.get_running_loop()
            reply: asyncio.Future[Reply] = loop.create_future()
            self._waiting[request_id] = reply
            deadline = loop.time() + timeout_s
            try:
                while (left := deadline - loop.time()) > 0:
                    pause = resend_s(data) if await _send(socket, data) else RETRY_S
                    done, _ = await asyncio.wait({reply}, timeout=min(pause, left))
                    if done:
                        return reply.result()
                    if reason := refusal.reason():
                        raise refused(self.url, reason)
            finally:
                del self._waiting[request_id]
        raise unanswered(self.url, timeout_s)

    def _connected(self) -> tuple[zmq.asyncio.Socket, Refusal]:
        # Not in __init__: the socket belongs to the event loop that runs now.
        if self._socket is None:
            self._context = zmq.asyncio.Context()
            self._socket = self._context.socket(zmq.DEALER)
            self._refusal = connect(self._socket, self.url, self._key)
        if self._receiver is None or self._receiver.done():
            self._receiver = asyncio.create_task(self._receive(self._socket))
        assert self._refusal is not None
        return self._socket, self._refusal

    async def _receive(self, socket: zmq.asyncio.Socket) -> None:
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
            if refuses_unread(request_id, reply):  # any of ours may be meant
                self._fail(BadInput(f"the broker refused a request: {reply.reason}"))
            future = self._waiting.get(request_id)
            if future is not None and not future.done():
                future.set_result(reply)

    def _fail(self, error: Error) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error)


async def _send(socket: zmq.asyncio.Socket, data: bytes) -> bool:
    try:
        await socket.send(data, zmq.DONTWAIT)
        return True
    except zmq.Again:
        return False


def _label_of(submission: Submission) -> str:
    """Equal work has an equal label, other work another."""
    digest = str(Hash.of(encode(submission)))[:24]
    label = f"{submission.problem.name}/{digest}"
    return label if len(label.encode()) <= NAME_BYTES_MAX else digest
