"""Tests that every call of both clients ends with its timeout, even if the broker never answers."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from examples import ROOT, problem, submission
from scripted_broker import reply

import kq
from kq.calls import batch, operations
from kq.evaluator import LocalKernelEvaluatorWrapper
from kq.wire.messages import Acceptance, JobAck, StatusQuery, SubmitAck, SubmitBatch

TIMEOUT_S = 0.2
FINAL_QUERY_S = 0.2  # shorter than in the client, so that the tests are fast
SLACK_S = 40.0  # tolerance for a busy machine; a call that ignores its timeout takes at least SILENCE_S


@pytest.fixture
def deadline_check(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(batch, "FINAL_QUERY_S", FINAL_QUERY_S)
    monkeypatch.setattr(operations, "FINAL_QUERY_S", FINAL_QUERY_S)
    start = time.monotonic()
    yield
    assert time.monotonic() - start < TIMEOUT_S + 2 * FINAL_QUERY_S + SLACK_S


@pytest.fixture
def silent_broker(scripted: Any, url: str, deadline_check: None) -> str:
    """The URL of a broker that receives all requests and never answers."""
    scripted(lambda number, request: [])
    return url


def taken(number: int, request: Any) -> list[bytes]:
    """Answers like a broker that acknowledges jobs and answers no other request."""
    if not isinstance(request, SubmitBatch):
        return []
    return reply(number, SubmitAck([JobAck(Acceptance.ACCEPTED, seq + 1) for seq in range(len(request.jobs))]))


def test_submit_ends_in_time(connect: Callable[[str], Any], silent_broker: str) -> None:
    with pytest.raises((kq.BrokerUnreachable, kq.GaveUp)):
        connect(silent_broker).submit("r", [submission()], timeout=TIMEOUT_S)


def test_submit_many_ends_in_time(connect: Callable[[str], Any], silent_broker: str) -> None:
    with pytest.raises(kq.BrokerUnreachable):
        connect(silent_broker).submit_many("r", [submission(str(i)) for i in range(1000)], timeout=TIMEOUT_S)


def test_evaluations_end_in_time_with_an_infra_error(connect: Callable[[str], Any], silent_broker: str) -> None:
    sources = ["# a", "# b", " ", "# a"]
    got = connect(silent_broker).evaluate_many(sources, problem=problem(), timeout=TIMEOUT_S)
    assert [one.reward for one in got] == [None, None, 0.0, None]
    assert got[0] == got[3] and all("did not answer within" in (got[i].infra_error or "") for i in (0, 1))


def test_accepted_jobs_end_in_time(
    connect: Callable[[str], Any], scripted: Any, url: str, deadline_check: None
) -> None:
    timeout_s = 10 * TIMEOUT_S  # within which the jobs must be acknowledged
    scripted(taken)
    got = connect(url).evaluate_many(["# a", "# b"], problem=problem(), timeout=timeout_s)
    assert [one.seq for one in got] == [1, 2] and all("not finished within" in (one.infra_error or "") for one in got)
    one = connect(url).evaluate("# a", problem=problem(), timeout=timeout_s)
    assert "not finished within" in (one.infra_error or "")


@pytest.mark.parametrize("timeout", [-1, float("nan"), "5", True])
def test_an_invalid_timeout_is_refused_before_anything_is_sent(
    connect: Callable[[str], Any], silent_broker: str, timeout: Any
) -> None:
    client = connect(silent_broker)
    calls: list[Callable[[], Any]] = [
        lambda: client.submit("r", [submission()], timeout=timeout),
        lambda: client.submit_many("r", [submission()], timeout=timeout),
        lambda: client.wait([1], timeout=timeout),
        lambda: client.poll([1], timeout=timeout),
        lambda: client.evaluate("# a", problem=problem(), timeout=timeout),
        lambda: client.evaluate_many(["# a"], problem=problem(), timeout=timeout),
    ]
    for call in calls:
        with pytest.raises(
            kq.BadInput, match=f"timeout must be a number of seconds, 0 or more, or None for no limit; got {timeout!r}"
        ):
            call()
    with pytest.raises(kq.BadInput, match="job_timeout must be a number"):
        client.evaluate_many(["# a"], problem=problem(), timeout=0, job_timeout=timeout)


def test_threads_that_share_a_client_do_not_wait_for_one_another(silent_broker: str) -> None:
    errors: list[Exception] = []

    def submit(client: kq.Client, label: str, timeout: float) -> None:
        try:
            client.submit("r", [submission(label)], timeout=timeout)
        except kq.Error as error:
            errors.append(error)

    with kq.Client(silent_broker) as client:
        patient = threading.Thread(target=submit, args=(client, "patient", TIMEOUT_S + FINAL_QUERY_S))
        patient.start()
        threads = [threading.Thread(target=submit, args=(client, str(i), TIMEOUT_S)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with pytest.raises(kq.BadInput):
            client.wait([0])
        patient.join()
    assert len(errors) == 21


def test_a_thousand_tasks_with_a_silent_broker_end_in_time(silent_broker: str) -> None:
    async def rewards() -> list[kq.Reward]:
        async with kq.AsyncClient(silent_broker) as client:
            calls = (client.reward(f"# {i}", problem(), timeout=TIMEOUT_S) for i in range(1000))
            return await asyncio.gather(*calls)

    assert all(value is None and error for value, error in asyncio.run(rewards()))


UNCLOSED_CLIENTS = """
import asyncio, gc, os, sys, kq
for _ in range(2):
    client = kq.Client("ipc:///tmp/kq.nobody")
    try:
        client.submit("r", [kq.Submission.of("# a", label="a", problem=kq.Problem.of("# p", "p"))], timeout=0)
    except kq.Error:
        pass
    del client
    gc.collect()
async def once():
    return await kq.AsyncClient("ipc:///tmp/kq.nobody").evaluate("# a", problem=kq.Problem.of("# p", "p"), timeout=0.1)
print(asyncio.run(once()).infra_error)
gc.collect()
kept = kq.Client("ipc:///tmp/kq.nobody")
if not os.fork():
    try:
        kept.submit("r", [], timeout=float("inf"))  # sends nothing
        kept.status()
    except kq.Error as error:
        print(error, flush=True)
    sys.exit()
os.wait()
"""


def test_an_unclosed_client_does_not_block_the_end_of_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", UNCLOSED_CLIENTS],
        cwd=ROOT / "python",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "not finished within 0.1 s" in done.stdout and "was made before a fork" in done.stdout


def test_a_client_of_another_event_loop_is_refused() -> None:
    client = kq.AsyncClient("ipc:///tmp/kq.nobody")

    async def ask() -> None:
        with pytest.raises(kq.BrokerUnreachable):
            await client._ask(StatusQuery([1]), 0.05)

    async def ask_elsewhere() -> None:
        with pytest.raises(kq.Error, match="another event loop"):
            await client._ask(StatusQuery([1]), 0.05)
        await client.close()

    asyncio.run(ask())
    asyncio.run(ask_elsewhere())


def test_an_evaluator_in_a_forked_process_is_refused() -> None:
    with LocalKernelEvaluatorWrapper(url="ipc:///tmp/kq.nobody") as evaluator:
        if (child := os.fork()) == 0:
            try:
                evaluator.evaluate("# p", "# a")
            except kq.Error as error:
                os._exit(0 if "before a fork" in str(error) else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
