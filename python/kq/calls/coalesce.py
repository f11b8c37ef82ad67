"""Submissions of many threads or tasks in few messages: while one batch is on its way, those that come meanwhile make the next one."""

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

GRACE_S = 2.0  # for what is on its way when the time is over: its last look, and the way back


@dataclass(eq=False)
class Waiting:
    """One call of submit()."""

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
        return None if self.timeout is None else max(0.0, self.deadline - time.monotonic())


def take_group(waiting: deque[Waiting]) -> list[Waiting]:
    """Takes the first, and with it in their order those that may share its batch: of its run and patience, with labels of their own."""
    group: list[Waiting] = []
    labels: set[str] = set()
    left: list[Waiting] = []
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


def settle(group: list[Waiting], acks: list[JobAck]) -> None:
    for call in group:
        mine, acks = acks[: len(call.submissions)], acks[len(call.submissions) :]
        if not call.outcome.done():
            call.outcome.set_result(mine)


def settle_with_error(group: list[Waiting], error: Exception) -> None:
    for call in group:
        if not call.outcome.done():
            call.outcome.set_exception(error)


def all_of(group: list[Waiting]) -> list[Submission]:
    return [submission for call in group for submission in call.submissions]


class OfThreads:
    """`send` submits in one go; whoever finds nobody sending does it for all that wait."""

    def __init__(self, send: Callable[[str, list[Submission], float | None], list[JobAck]]) -> None:
        self._send = send
        self._waiting: deque[Waiting] = deque()
        self._lock = threading.Lock()
        self._sending = threading.Lock()

    def submit(self, run: str, submissions: Iterable[Submission], timeout: float | None) -> list[JobAck]:
        call = Waiting(run, list(submissions), timeout)
        with self._lock:
            self._waiting.append(call)
        while not call.outcome.done():
            if not self._sending.acquire(timeout=-1 if (left := call.left_s) is None else left):
                return self._out_of_time(call)
            try:
                if not call.outcome.done():
                    self._send_one_group(call)
            finally:
                self._sending.release()
        return call.outcome.result()

    def _out_of_time(self, call: Waiting) -> list[JobAck]:
        with self._lock:
            if call in self._waiting:
                self._waiting.remove(call)
                raise GaveUp(
                    f"other submissions were on their way for {call.timeout:g} s; nothing of this one was sent"
                )
        try:
            return call.outcome.result(GRACE_S)  # it is on its way with others, whose time is over as well
        except FutureTimeout:
            raise GaveUp(f"not acknowledged within {call.timeout:g} s; submit again to go on") from None

    def _send_one_group(self, own: Waiting) -> None:
        with self._lock:
            group = take_group(self._waiting)
        try:
            settle(group, self._send(group[0].run, all_of(group), group[0].left_s))
        except Exception as error:
            settle_with_error(group, error)
        except BaseException:  # this thread is interrupted, the others are not
            with self._lock:
                self._waiting = deque(call for call in [*group, *self._waiting] if call is not own)
            raise


class OfTasks:
    """The same for the tasks of one event loop."""

    def __init__(self, send: Callable[[str, list[Submission], float | None], Awaitable[list[JobAck]]]) -> None:
        self._send = send
        self._waiting: deque[Waiting] = deque()
        self._sender: asyncio.Task[None] | None = None

    async def submit(self, run: str, submissions: Iterable[Submission], timeout: float | None) -> list[JobAck]:
        call = Waiting(run, list(submissions), timeout)
        self._waiting.append(call)
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
        while self._waiting:
            group = take_group(self._waiting)
            try:
                settle(group, await self._send(group[0].run, all_of(group), group[0].left_s))
            except Exception as error:
                settle_with_error(group, error)
