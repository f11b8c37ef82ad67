"""Tests evaluate() with the real broker: many calls at once, and an infra_error whenever the kernel is not at fault."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from conftest import RealBroker
from examples import problem
from fake_worker import FakeWorker, judge
from scripted_broker import reply

import kq
from kq.calls import operations, watch
from kq.wire.messages import JobAck, SubmitAck, SubmitBatch

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def test_many_evaluations_at_once(shared_broker: str) -> None:
    async def evaluations() -> list[kq.Evaluation]:
        async with kq.AsyncClient(shared_broker) as client:
            sources = [f"# {'wrong' if i % 2 else 'right'} {i}" for i in range(100)]
            calls = [client.evaluate(source, problem=problem(), backend="torch", timeout=60) for source in sources]
            return list(await asyncio.gather(*calls))

    got = run(evaluations())
    assert [one.reward for one in got] == [1.5, 0.0] * 50
    assert len({one.label for one in got}) == len({one.seq for one in got}) == 100


def test_equal_work_is_evaluated_once_unless_wanted_fresh(shared_broker: str) -> None:
    async def evaluations() -> list[kq.Evaluation]:
        async with kq.AsyncClient(shared_broker) as client:
            return [
                await client.evaluate("# a", problem=problem(), backend="torch", fresh=fresh, timeout=60)
                for fresh in (False, False, True)
            ]

    first, second, fresh = run(evaluations())
    assert first.seq == second.seq != fresh.seq
    assert first.label == second.label != fresh.label
    assert fresh.reward == 1.5


def one_evaluation(url: str, source: str, **arguments: Any) -> kq.Evaluation:
    async def evaluation() -> kq.Evaluation:
        async with kq.AsyncClient(url) as client:
            return await client.evaluate(source, **{"problem": problem(), "backend": "torch"} | arguments)

    return run(evaluation())


def test_a_failure_of_kq_has_no_reward(shared_broker: str) -> None:
    one = one_evaluation(shared_broker, "# abandoned", label="relu/a", timeout=60)
    assert (one.reward, one.infra_error) == (None, "relu/a: abandoned: the judge died")


def test_reward_takes_a_kernel_and_a_problem(shared_broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kq.reward("# right, of one call", problem(), url=shared_broker) == (1.5, None)
    monkeypatch.setenv("KQ_BROKER", shared_broker)
    assert kq.reward("# wrong, of one call", problem()) == (0.0, None)
    value, infra_error = kq.reward("# abandoned, of one call", problem(), timeout=60)
    assert value is None and infra_error and infra_error.endswith("abandoned: the judge died")


def test_a_timeout_has_no_reward(broker: RealBroker) -> None:
    one = one_evaluation(broker.url, "# a", label="relu/a", timeout=4)
    sentence = "relu/a: not finished within 4 s; the job goes on (queued, no_worker)"
    assert (one.reward, one.seq, one.infra_error) == (None, 1, sentence)


def test_awaited_evaluations_are_pending(broker: RealBroker) -> None:
    wanted = ["a (job 1): queued, no_worker", "b (job 2): queued, no_worker"]

    async def listed() -> list[kq.PendingJob]:
        async with kq.AsyncClient(broker.url) as client:
            calls = (client.evaluate(text, problem=problem(), label=text) for text in ("a", "b"))
            waiting = asyncio.gather(*calls, return_exceptions=True)
            while [str(job) for job in client.pending] != wanted:
                await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.wait({waiting})
            return client.pending

    assert run(asyncio.wait_for(listed(), 60)) == []


def test_an_absent_broker_has_no_reward(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "SUBMIT_TIMEOUT_S", 0.2)
    one = one_evaluation(url, "# a")
    assert one.reward is None
    assert one.infra_error and one.infra_error.startswith(f"broker {url} did not answer within 0.2 s")


def test_an_evaluation_survives_a_restart_of_the_broker(broker: RealBroker) -> None:
    async def evaluation() -> kq.Evaluation:
        async with kq.AsyncClient(broker.url) as client:
            waiting = asyncio.create_task(client.evaluate("# a", problem=problem(), backend="torch", timeout=60))
            while not (await client.status()).queued:
                await asyncio.sleep(0.01)
            broker.stop()
            broker.start()
            worker = FakeWorker(broker.url, judge)
            try:
                return await waiting
            finally:
                worker.close()

    assert run(evaluation()).reward == 1.5


def test_a_broker_that_stops_answering_has_no_reward(scripted: Any, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "SILENCE_S", 0.2)

    def answer(number: int, request: Any) -> list[bytes]:
        return reply(number, SubmitAck([JobAck(kq.Acceptance.ACCEPTED, 1)])) if isinstance(request, SubmitBatch) else []

    scripted(answer)
    one = one_evaluation(url, "# a", timeout=60)
    assert one.reward is None
    assert one.infra_error and "did not answer within 0.2 s" in one.infra_error


def test_a_source_that_cannot_be_a_kernel_has_reward_0_and_no_job(url: str) -> None:
    one = one_evaluation(url, " \n")
    assert (one.reward, one.bad_source, one.infra_error) == (0.0, "submission.py: is empty", None)


def test_many_sources_are_a_list_and_have_one_problem_or_as_many(url: str) -> None:
    with kq.Client(url) as client:
        with pytest.raises(kq.BadInput, match="takes a list of sources"):
            client.evaluate_many("# a", problem=problem())
        with pytest.raises(kq.BadInput, match="2 sources and 3 problems"):
            client.evaluate_many(["# a", "# b"], problem=3 * [problem()])


def test_a_wrong_source_is_refused_with_its_index(url: str) -> None:
    needed = "a source is a text, a Path or a list of SourceFile, got"
    with kq.Client(url) as client:
        for wrong, sentence in (
            (["# a", None], f"source 1: {needed} NoneType"),
            (["# a", "# b", b"# c"], f"source 2: {needed} bytes; decode it"),
            (["# a", ["# b"]], f"source 1: {needed} a list of str"),
            (["# a", "kernels/a.py"], "source 1: 'kernels/a.py' is the name of a file, not the text of a kernel"),
            (None, "takes a list of sources, got NoneType"),
            (b"# a", "takes a list of sources, evaluate\\(\\) a single one"),
        ):
            with pytest.raises(kq.BadInput, match=sentence):
                client.evaluate_many(wrong, problem=problem())
        for wrong in (3, b"# a", None):
            with pytest.raises(kq.BadInput, match=f"^{needed} {type(wrong).__name__}"):
                client.evaluate(wrong, problem=problem())
        for nothing in (None, 3):
            with pytest.raises(
                kq.BadInput, match=f"a problem is a Problem or the path of its file, got {type(nothing).__name__}"
            ):
                client.evaluate("# a", problem=nothing)
        with pytest.raises(
            kq.BadInput, match="problem 1: a problem is a Problem or the path of its file, got NoneType"
        ):
            client.evaluate_many(["# a", "# b"], problem=[problem(), None])


@pytest.mark.parametrize(
    "wrong",
    [
        {"problem": "no/such.py"},
        {"backend": "tridon"},
        {"device": "tpu"},
        {"label": "a\nb"},
        {"gpu": "H100"},
        {"speed": "1"},
    ],
)
def test_mistakes_of_the_caller_are_raised(url: str, wrong: dict[str, str]) -> None:
    with pytest.raises(kq.BadInput):
        one_evaluation(url, "# a", **wrong)
