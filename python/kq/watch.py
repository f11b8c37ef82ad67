"""One poller for everybody who waits for a job: many evaluations at once cost the broker one query in a while."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kq.errors import BadInput, Error
from kq.messages import JobStatus
from kq.operations import POLL_S_MIN, POLL_S_PER_JOB, SILENCE_S, Operation, statuses, unknown
from kq.records import JobState

WATCH_POLL_S_MAX = 0.2

Drive = Callable[[Operation[dict[int, JobStatus]]], Awaitable[dict[int, JobStatus]]]


class Watch:
    """Polls while somebody waits. Owned by an AsyncClient."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._waiting: dict[int, set[asyncio.Future[JobStatus]]] = {}
        self._poller: asyncio.Task[None] | None = None
        self._pause_s = POLL_S_MIN
        self._latest: dict[int, JobStatus] = {}

    async def finished(self, seq: int) -> JobStatus:
        """The status of a job once it is finished."""
        future: asyncio.Future[JobStatus] = asyncio.get_running_loop().create_future()
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
        while self._waiting:
            asked = list(self._waiting)
            try:
                found = await self._drive(statuses(asked, SILENCE_S))
            except Exception as error:  # whoever waits is told, whatever it is
                self._fail(error)
                return
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
            # Often at first, for those who wait for one small job after another; rarely where many wait, or one for long.
            await asyncio.sleep(min(max(self._pause_s, POLL_S_PER_JOB * len(self._waiting)), WATCH_POLL_S_MAX))
            self._pause_s = min(1.5 * self._pause_s, WATCH_POLL_S_MAX)

    def _fail(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, {}
        for futures in waiting.values():
            for future in futures:
                if not future.done():
                    future.set_exception(error)
