"""Coalesces the submit() calls of many threads or tasks into few messages.

While one batch waits for its acknowledgement, later calls queue up; the next batch then holds all of them.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field

from kq.errors import GaveUp
from kq.records.limits import SUBMIT_JOBS_MAX
from kq.records.submission import Submission
from kq.records.validate import span_s
from kq.wire.messages import JobAck

GRACE_S = 2.0  # how long a call whose timeout has passed still waits for the answer to a batch that was already sent


@dataclass(eq=False)
class PendingCall:
    """One call of submit() that waits for its acknowledgements."""

    run: str
    submissions: list[Submission]
    timeout: float | None
    outcome: Future[list[JobAck]] = field(default_factory=Future)
    deadline: float = math.inf  # by time.monotonic()

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + span_s(self.timeout)
        if self.deadline == math.inf:
            self.timeout = None

    @property
    def left_s(self) -> float | None:
        """The seconds until the deadline, or None without a timeout."""
        return None if self.timeout is None else max(0.0, self.deadline - time.monotonic())


def take_group(waiting: deque[PendingCall]) -> list[PendingCall]:
    """Removes from `waiting` and returns the first call and, in order, the calls that may share a batch with it.

    Calls share a batch if they have the same run and timeout, no label in common, and fit into one message together.
    """
    group: list[PendingCall] = []
    labels: set[str] = set()
    left: list[PendingCall] = []
    for call in waiting:
        own = {submission.label for submission in call.submissions}
        fits = not group or (
            (call.run, call.timeout) == (group[0].run, group[0].timeout)
            and len(labels) + len(call.submissions) <= SUBMIT_JOBS_MAX
            and labels.isdisjoint(own)
        )
        if fits:
            group.append(call)
            labels |= own
        else:
            left.append(call)
    waiting.clear()
    waiting.extend(left)
    return group


def set_acks(group: list[PendingCall], acks: list[JobAck]) -> None:
    """Gives each call of the group the acknowledgements of its own submissions."""
    for call in group:
        mine, acks = acks[: len(call.submissions)], acks[len(call.submissions) :]
        if not call.outcome.done():
            call.outcome.set_result(mine)


def set_errors(group: list[PendingCall], error: Exception) -> None:
    """Fails every call of the group with the same error."""
    for call in group:
        if not call.outcome.done():
            call.outcome.set_exception(error)


def submissions_of(group: list[PendingCall]) -> list[Submission]:
    return [submission for call in group for submission in call.submissions]


class ThreadCoalescer:
    """Coalesces the calls of threads. The thread that gets the sending lock sends one batch for all waiting threads.

    `send` submits one batch and returns its acknowledgements.
    """

    def __init__(self, send: Callable[[str, list[Submission], float | None], list[JobAck]]) -> None:
        self._send = send
        self._calls: deque[PendingCall] = deque()
        self._lock = threading.Lock()
        self._sending = threading.Lock()

    def submit(self, run: str, submissions: Iterable[Submission], timeout: float | None) -> list[JobAck]:
        """Returns one acknowledgement per submission, in order; raises what `send` raised for the batch."""
        call = PendingCall(run, list(submissions), timeout)
        with self._lock:
            self._calls.append(call)
        while not call.outcome.done():
            if not self._sending.acquire(timeout=-1 if (left := call.left_s) is None else left):
                return self._out_of_time(call)
            try:
                if not call.outcome.done():
                    self._send_one_group(call)
            finally:
                self._sending.release()
        return call.outcome.result()

    def _out_of_time(self, call: PendingCall) -> list[JobAck]:
        with self._lock:
            if call in self._calls:
                self._calls.remove(call)
                raise GaveUp(f"other submissions were being sent for {call.timeout:g} s; nothing of this call was sent")
        try:
            return call.outcome.result(GRACE_S)  # another thread has sent this call, with the same timeout
        except FutureTimeout:
            raise GaveUp(f"not acknowledged within {call.timeout:g} s; submit again to go on") from None

    def _send_one_group(self, own: PendingCall) -> None:
        with self._lock:
            group = take_group(self._calls)
        try:
            set_acks(group, self._send(group[0].run, submissions_of(group), group[0].left_s))
        except Exception as error:
            set_errors(group, error)
        except BaseException:  # only this thread is interrupted: the other calls go back into the queue
            with self._lock:
                self._calls = deque(call for call in [*group, *self._calls] if call is not own)
            raise


class TaskCoalescer:
    """Coalesces the calls of the tasks of one event loop; one task sends the batches one after another."""

    def __init__(self, send: Callable[[str, list[Submission], float | None], Awaitable[list[JobAck]]]) -> None:
        self._send = send
        self._calls: deque[PendingCall] = deque()
        self._sender: asyncio.Task[None] | None = None

    async def submit(self, run: str, submissions: Iterable[Submission], timeout: float | None) -> list[JobAck]:
        call = PendingCall(run, list(submissions), timeout)
        self._calls.append(call)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_all())
        future = asyncio.wrap_future(call.outcome)
        if timeout is None or timeout == math.inf:
            return await future
        try:
            return await asyncio.wait_for(future, timeout + GRACE_S)
        except asyncio.TimeoutError:
            raise GaveUp(f"not acknowledged within {timeout:g} s; submit again to go on") from None

    async def _send_all(self) -> None:
        while self._calls:
            group = take_group(self._calls)
            try:
                set_acks(group, await self._send(group[0].run, submissions_of(group), group[0].left_s))
            except Exception as error:
                set_errors(group, error)
