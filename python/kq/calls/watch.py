"""One status query for all tasks that wait for a job. The broker answers the query when one of the jobs finishes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kq.calls.operations import (
    POLL_S_MIN,
    POLL_S_PER_JOB,
    SILENCE_S,
    STATUS_WAIT_S,
    Operation,
    statuses,
    unknown_job_text,
)
from kq.errors import BadInput, Error
from kq.records.jobs import JobState
from kq.wire.messages import JobStatus

WATCH_POLL_S_MAX = 0.2  # the longest pause between two status queries

RunOperation = Callable[[Operation[dict[int, JobStatus]]], Awaitable[dict[int, JobStatus]]]


class Watch:
    """Polls the broker as long as a task waits for a job. An AsyncClient owns one Watch.

    finished() registers a waiter and starts the polling task if none runs. The polling task ends when no waiter is
    left.
    """

    def __init__(self, run_operation: RunOperation) -> None:
        self._run_operation = run_operation
        self._waiting: dict[int, set[asyncio.Future[JobStatus]]] = {}
        self._poller: asyncio.Task[None] | None = None
        self._pause_s = POLL_S_MIN
        self._new_job = asyncio.Event()  # set when a task waits for a job that the current query does not ask about
        self._latest: dict[int, JobStatus] = {}

    async def finished(self, seq: int) -> JobStatus:
        """Waits until a job is finished and returns its status; raises what the query raised."""
        future: asyncio.Future[JobStatus] = asyncio.get_running_loop().create_future()
        if seq not in self._waiting:
            self._new_job.set()
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
        """Returns the job's status at the broker's last answer, or None."""
        return self._latest.get(seq)

    def close(self) -> None:
        """Stops polling and fails all waiters."""
        if self._poller is not None:
            self._poller.cancel()
        self._fail(Error("the client was closed"))

    async def _poll(self) -> None:
        clock = asyncio.get_running_loop().time
        while self._waiting:
            asked, asked_s = list(self._waiting), clock()
            self._new_job.clear()
            try:
                found = await self._ask(asked)
            except Exception as error:  # every waiter must learn of any error, or it would wait for ever
                self._fail(error)
                return
            if found is None:
                await asyncio.sleep(self._pause_min_s())  # waiters that register meanwhile share the next query
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
                        future.set_exception(BadInput(unknown_job_text(seq)))
                    else:
                        future.set_result(status)
            # The next query follows soon, for callers that wait for one small job after another. It follows later if
            # many tasks wait, or if the broker answered without waiting for a job to finish.
            pause_s = max(self._pause_s, self._pause_min_s())
            await asyncio.sleep(
                max(self._pause_min_s() if len(self._waiting) < len(asked) else 0.0, asked_s + pause_s - clock())
            )
            self._pause_s = min(1.5 * self._pause_s, WATCH_POLL_S_MAX)

    async def _ask(self, asked: list[int]) -> dict[int, JobStatus] | None:
        """Returns the jobs' statuses once one of the jobs is finished, or after STATUS_WAIT_S.

        Returns None if a task began to wait for another job meanwhile, so that the next query includes that job.
        """
        # A job without a known status is asked about without waiting: the client lists its status as pending.
        wait_s = STATUS_WAIT_S if all(seq in self._latest for seq in asked) else 0.0
        question = asyncio.ensure_future(self._run_operation(statuses(asked, SILENCE_S, wait_s)))
        new_job = asyncio.ensure_future(self._new_job.wait())
        try:
            await asyncio.wait({question, new_job}, return_when=asyncio.FIRST_COMPLETED)
            return question.result() if question.done() else None
        finally:
            new_job.cancel()
            question.cancel()

    def _pause_min_s(self) -> float:
        """The shortest pause before the next query; it grows with the number of jobs."""
        return min(max(POLL_S_MIN, POLL_S_PER_JOB * len(self._waiting)), WATCH_POLL_S_MAX)

    def _fail(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, {}
        for futures in waiting.values():
            for future in futures:
                if not future.done():
                    future.set_exception(error)
