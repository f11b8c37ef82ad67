"""Tests that submissions of many threads and tasks share messages and that each caller gets its own answer."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from examples import submission
from scripted_broker import Answer, ScriptedBroker, reply

import kq
from kq.calls.coalesce import PendingCall, ThreadCoalescer, take_group
from kq.records.limits import SUBMIT_JOBS_MAX
from kq.wire.messages import Acceptance, JobAck, RunReply, SubmitAck, SubmitBatch

Scripted = Callable[[Answer], ScriptedBroker]
CALLERS = 200


def job(label: str) -> kq.Submission:
    return replace(submission(), label=label)


def call(run: str, *labels: str, timeout: float | None = None) -> PendingCall:
    return PendingCall(run, [job(label) for label in labels], timeout)


def acks_for(batch: SubmitBatch) -> SubmitAck:
    """Returns acks in which each job's number is its label."""
    return SubmitAck([JobAck(acceptance=Acceptance.ACCEPTED, seq=int(one.label)) for one in batch.jobs])


def answer_to(request: Any) -> SubmitAck | RunReply:
    """Returns acks for a batch, and no rows for a query."""
    return acks_for(request) if isinstance(request, SubmitBatch) else RunReply()


def batch_count(broker: ScriptedBroker) -> int:
    """Returns the number of batches; a slow broker is sent a request several times."""
    return len({number for number, request in broker.requests if isinstance(request, SubmitBatch)})


def test_a_group_has_one_run_and_timeout_and_no_label_twice() -> None:
    calls = [call("r", "1", "2"), call("other", "3"), call("r", "2"), call("r", "4", timeout=1.0), call("r", "5")]
    waiting = deque(calls)
    groups = []
    while waiting:
        groups.append([calls.index(one) for one in take_group(waiting)])
    assert groups == [[0, 4], [1], [2], [3]]


def test_a_group_fits_into_a_message() -> None:
    many = call("r", *(str(i) for i in range(SUBMIT_JOBS_MAX)))
    assert take_group(deque([many, call("r", "more")])) == [many]


def test_threads_share_batches_and_get_their_own_acks(scripted: Scripted, url: str) -> None:
    broker = scripted(lambda number, request: reply(number, answer_to(request)))
    with kq.Client(url) as client, ThreadPoolExecutor(32) as threads:
        acks = list(threads.map(lambda i: client.submit("r", [job(str(i))]), range(1, CALLERS + 1)))
    assert [[ack.seq for ack in own] for own in acks] == [[i] for i in range(1, CALLERS + 1)]
    assert batch_count(broker) < CALLERS


def test_tasks_share_batches_and_get_their_own_acks(scripted: Scripted, url: str) -> None:
    broker = scripted(lambda number, request: reply(number, answer_to(request)))

    async def story() -> list[list[JobAck]]:
        async with kq.AsyncClient(url) as client:
            return await asyncio.gather(*(client.submit("r", [job(str(i))]) for i in range(1, CALLERS + 1)))

    acks = asyncio.run(story())
    assert [[ack.seq for ack in own] for own in acks] == [[i] for i in range(1, CALLERS + 1)]
    assert batch_count(broker) <= 3


def test_bad_input_of_one_task_fails_that_one_alone(scripted: Scripted, url: str) -> None:
    scripted(lambda number, request: reply(number, answer_to(request)))

    async def story() -> list[Any]:
        async with kq.AsyncClient(url) as client:
            calls = (client.submit("r", [job(label)]) for label in ("1", "line\nbreak", "2"))
            return await asyncio.gather(*calls, return_exceptions=True)

    first, bad, second = asyncio.run(story())
    assert (first[0].seq, second[0].seq) == (1, 2)
    assert isinstance(bad, kq.BadInput)


def test_an_error_of_the_batch_reaches_all_that_share_it() -> None:
    started, go_on = threading.Event(), threading.Event()

    def send(run: str, submissions: list[kq.Submission], timeout: float | None) -> list[JobAck]:
        started.set()
        go_on.wait(60)
        raise kq.BrokerUnreachable("gone")

    submits = ThreadCoalescer(send)
    with ThreadPoolExecutor(3) as threads:
        calls = [threads.submit(submits.submit, "r", [job(str(i))], None) for i in range(3)]
        started.wait(60)
        go_on.set()
        for one in calls:
            with pytest.raises(kq.BrokerUnreachable):
                one.result(60)


def test_the_calls_of_other_threads_survive_an_interrupted_sender() -> None:
    sent: list[list[str]] = []

    def send(run: str, submissions: list[kq.Submission], timeout: float | None) -> list[JobAck]:
        sent.append([one.label for one in submissions])
        if len(sent) == 1:
            submits._calls.append(call("r", "2"))
            raise KeyboardInterrupt
        return acks_for(SubmitBatch(run, submissions, [], "")).jobs

    submits = ThreadCoalescer(send)
    with pytest.raises(KeyboardInterrupt):
        submits.submit("r", [job("1")], None)
    assert [ack.seq for ack in submits.submit("r", [job("3")], None)] == [3]
    assert sent == [["1"], ["2", "3"]]
