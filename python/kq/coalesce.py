"""Submissions of many threads or tasks in few messages: while one batch is on its way, those that come meanwhile make the next one."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field

from kq.limits import SUBMIT_JOBS_MAX
from kq.messages import JobAck
from kq.submission import Submission


@dataclass(eq=False)
class Waiting:
    """One call of submit()."""

    run: str
    submissions: list[Submission]
    timeout: float | None
    outcome: Future[list[JobAck]] = field(default_factory=Future)


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
            with self._sending:
                if not call.outcome.done():
                    self._send_one_group(call)
        return call.outcome.result()

    def _send_one_group(self, own: Waiting) -> None:
        with self._lock:
            group = take_group(self._waiting)
        try:
            settle(group, self._send(group[0].run, all_of(group), group[0].timeout))
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
        return await asyncio.wrap_future(call.outcome)

    async def _send_all(self) -> None:
        while self._waiting:
            group = take_group(self._waiting)
            try:
                settle(group, await self._send(group[0].run, all_of(group), group[0].timeout))
            except Exception as error:
                settle_with_error(group, error)
