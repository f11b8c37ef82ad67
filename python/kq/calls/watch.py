"""One question for everybody who waits for a job, which the broker answers when one of them is finished."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kq.calls.operations import NEWS_WAIT_S, POLL_S_MIN, POLL_S_PER_JOB, SILENCE_S, Operation, statuses, unknown
from kq.errors import BadInput, Error
from kq.records.jobs import JobState
from kq.wire.messages import JobStatus

WATCH_POLL_S_MAX = 0.2

Drive = Callable[[Operation[dict[int, JobStatus]]], Awaitable[dict[int, JobStatus]]]


class Watch:
    """Asks while somebody waits. Owned by an AsyncClient."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._waiting: dict[int, set[asyncio.Future[JobStatus]]] = {}
        self._poller: asyncio.Task[None] | None = None
        self._pause_s = POLL_S_MIN
        self._joined = asyncio.Event()  # somebody waits for a job that was not asked about
        self._latest: dict[int, JobStatus] = {}

    async def finished(self, seq: int) -> JobStatus:
        """The status of a job once it is finished."""
        future: asyncio.Future[JobStatus] = asyncio.get_running_loop().create_future()
        if seq not in self._waiting:
            self._joined.set()
        self._waiting.setdefault(seq, set()).add(future)
        self._pause_s = POLL_S_MIN
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())
        try:
            return await future
        finally:
            waiters = self._waiting.get(seq, set())
            waiters.discard(future)
            if not waiters:
                self._waiting.pop(seq, None)

    def status(self, seq: int) -> JobStatus | None:
        """As the job stood when the broker was last asked."""
        return self._latest.get(seq)

    def close(self) -> None:
        if self._poller is not None:
            self._poller.cancel()
        self._fail(Error("the client was closed"))

    async def _poll(self) -> None:
        clock = asyncio.get_running_loop().time
        while self._waiting:
            asked, asked_s = list(self._waiting), clock()
            self._joined.clear()
            try:
                found = await self._ask(asked)
            except Exception as error:  # whoever waits is told, whatever it is
                self._fail(error)
                return
            if found is None:
                await asyncio.sleep(self._least_s())  # whoever else comes now shares the next question
                continue
            self._latest = found
            for seq in asked:
                status = found.get(seq)
                if status is not None and status.state is not JobState.FINISHED:
                    continue
                for future in self._waiting.pop(seq, set()):
                    if future.done():
                        continue
                    if status is None:
                        future.set_exception(BadInput(unknown(seq)))
                    else:
                        future.set_result(status)
            # Soon, for those who wait for one small job after another; later where many wait, or where the broker did not wait for news.
            pause_s = max(self._pause_s, self._least_s())
            await asyncio.sleep(
                max(self._least_s() if len(self._waiting) < len(asked) else 0.0, asked_s + pause_s - clock())
            )
            self._pause_s = min(1.5 * self._pause_s, WATCH_POLL_S_MAX)

    async def _ask(self, asked: list[int]) -> dict[int, JobStatus] | None:
        """Where they stand once one of them is finished, or after a while; nothing where somebody waits for another job meanwhile."""
        # How a job stands that nobody has asked about is wanted at once: it may be told in a list of what is pending.
        wait_s = NEWS_WAIT_S if all(seq in self._latest for seq in asked) else 0.0
        question = asyncio.ensure_future(self._drive(statuses(asked, SILENCE_S, wait_s)))
        joined = asyncio.ensure_future(self._joined.wait())
        try:
            await asyncio.wait({question, joined}, return_when=asyncio.FIRST_COMPLETED)
            return question.result() if question.done() else None
        finally:
            joined.cancel()
            question.cancel()

    def _least_s(self) -> float:
        return min(max(POLL_S_MIN, POLL_S_PER_JOB * len(self._waiting)), WATCH_POLL_S_MAX)

    def _fail(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, {}
        for futures in waiting.values():
            for future in futures:
                if not future.done():
                    future.set_exception(error)
