"""The client for scripts and notebooks: each call returns when the broker has answered."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import zmq

from kq import operations
from kq.coalesce import OfThreads
from kq.errors import Error
from kq.key import given_key
from kq.link import RETRY_S, broker_url, connect, decoded, encoded, refused, refuses_unread, resend_s, unanswered
from kq.messages import BrokerReply, JobAck, JobStatus, Reply, Request
from kq.operations import Ask, Operation
from kq.records import LeaderboardRow, RunRow
from kq.refusal import Refusal
from kq.submission import Submission
from kq.submitter import submitter_name

T = TypeVar("T")


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
        self._submits = OfThreads(
            lambda run, submissions, timeout: self._run(
                operations.submit(run, submissions, self.submitter, timeout, time.monotonic)
            )
        )
        self._last_request_id = 0
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._refusal: Refusal | None = None
        try:
            self._refusal = connect(self._socket, self.url, secret)
        except BaseException:
            self.close()
            raise

    def submit(self, run: str, submissions: Iterable[Submission], timeout: float | None = None) -> list[JobAck]:
        """Hands the jobs over, in as many batches as needed: one JobAck per submission, in order.

        What an accepted or reused ack says is on the broker's disk. A refused one says why in `reason`. After any
        error, submitting the same again goes on where it stopped. What a busy broker has no room for is sent again until
        it takes it; GaveUp after `timeout` seconds of that. What threads submit at the same time shares batches.
        """
        return self._submits.submit(run, operations.checked(run, submissions, self.submitter), timeout)

    def wait(self, seqs: Sequence[int], timeout: float | None = None) -> list[JobStatus]:
        """Returns when all these jobs are finished, in the order asked; raises GaveUp after `timeout` seconds."""
        return self._run(operations.wait(seqs, timeout, time.monotonic))

    def results(self, run: str, with_samples: bool = False) -> list[RunRow]:
        """The rows of a run in label order; those of unfinished jobs have no result."""
        return self._run(operations.results(run, with_samples))

    def leaderboard(self) -> list[LeaderboardRow]:
        """The best row of each problem on each device model."""
        return self._run(operations.leaderboard())

    def status(self) -> BrokerReply:
        """The broker's version, how many jobs are queued and leased, and its workers."""
        return self._run(operations.status())

    def close(self) -> None:
        if self._refusal is not None:
            self._refusal.close()
            self._refusal = None
        self._socket.close()
        self._context.term()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, operation: Operation[T]) -> T:
        answer: Reply | None = None
        while True:
            try:
                step = operation.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(step, Ask):
                answer = self._ask(step.request, step.timeout_s)
            else:
                answer = None
                time.sleep(step.seconds)

    def _ask(self, request: Request, timeout_s: float) -> Reply:
        """Sends the request again with the same number until its reply is here: every request may be repeated."""
        with self._lock:
            if self._refusal is None:
                raise Error("the client was closed")
            self._refusal.knock_again()
            self._last_request_id += 1
            request_id = self._last_request_id
            data = encoded(request_id, request)
            now = time.monotonic()
            deadline, send_at = now + timeout_s, now
            while now < deadline:
                if now >= send_at:
                    send_at = now + (resend_s(data) if self._send(data) else RETRY_S)
                if self._socket.poll(math.ceil(max(0.0, min(send_at, deadline) - now) * 1_000)):
                    arrived = decoded(self.url, self._socket.recv_multipart())
                    if arrived and (arrived[0] == request_id or refuses_unread(*arrived)):
                        return arrived[1]  # type: ignore[no-any-return]
                    # else a late answer to an earlier request: whoever asked has given up on it
                elif reason := self._refusal.reason():
                    raise refused(self.url, reason)
                now = time.monotonic()
        raise unanswered(self.url, timeout_s)

    def _send(self, data: bytes) -> bool:
        try:
            self._socket.send(data, zmq.DONTWAIT)
            return True
        except zmq.Again:
            return False
