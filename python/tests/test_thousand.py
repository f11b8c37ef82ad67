"""Tests that no job is lost or reported twice if the broker is killed while hundreds of jobs are in flight.

By default there are 250 jobs and the broker is away for 0.3 s. For a thousand jobs and ten seconds:

    KQ_AWAY_S=10 KQ_JOBS=1000 .venv/bin/python -m pytest python/tests/test_thousand.py
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import RealBroker
from examples import submission
from fake_worker import FakeWorker, judge

import kq

AWAY_S = float(os.environ.get("KQ_AWAY_S", "0.3"))
JOBS = int(os.environ.get("KQ_JOBS", "250"))
TIMEOUT_S = 300 + 10 * AWAY_S
KILL_AT = JOBS // 4  # outcomes


@pytest.fixture
def short_lease_broker(url: str, folder: Path) -> Iterator[RealBroker]:
    broker = RealBroker(url, folder / "store", "--lease", "2s")  # the leases of the killed broker must expire soon
    yield broker
    broker.stop()


class Killer:
    """Kills the broker when KILL_AT outcomes have arrived, and starts it again AWAY_S later."""

    def __init__(self, broker: RealBroker) -> None:
        self._broker = broker
        self._seen = 0
        self._later: threading.Timer | None = None

    def note(self) -> None:
        self._seen += 1
        if self._seen == KILL_AT:
            self._broker.kill()
            self._later = threading.Timer(AWAY_S, self._broker.start)
            self._later.start()

    def join(self) -> None:
        assert self._later is not None
        self._later.join()


def jobs() -> list[kq.Submission]:
    return [submission(f"relu/{i}", f"# {'wrong' if i % 3 == 0 else 'right'} {i}") for i in range(JOBS)]


def check(url: str, got: list[kq.Evaluation]) -> None:
    assert Counter(one.label for one in got) == Counter(job.label for job in jobs())
    assert all(one.reward == (0.0 if int(one.label[5:]) % 3 == 0 else 1.5) for one in got)
    with kq.Client(url) as client:
        rows = client.results("r")
    assert len(rows) == len({row.job.seq for row in rows}) == JOBS
    assert {one.label: one.seq for one in got} == {row.label: row.job.seq for row in rows}


def test_a_thousand_jobs_survive_a_killed_broker(short_lease_broker: RealBroker) -> None:
    killer = Killer(short_lease_broker)
    got: list[kq.Evaluation] = []
    with kq.Client(short_lease_broker.url) as client:
        batch = client.submit_many("r", jobs())
        assert len(batch.pending) == JOBS and client.status().queued == JOBS
        worker = FakeWorker(short_lease_broker.url, judge)
        try:
            for one in batch.as_completed(timeout=TIMEOUT_S):
                got.append(one)
                killer.note()
        finally:
            killer.join()
            worker.close()
        assert batch.pending == []
    check(short_lease_broker.url, got)


def test_a_thousand_tasks_survive_a_killed_broker(short_lease_broker: RealBroker) -> None:
    killer = Killer(short_lease_broker)

    async def evaluation(client: kq.AsyncClient, job: kq.Submission) -> kq.Evaluation:
        text = f"# {'wrong' if int(job.label[5:]) % 3 == 0 else 'right'} {job.label[5:]}"
        one = await client.evaluate(
            text, problem=job.problem, backend="torch", run="r", label=job.label, timeout=TIMEOUT_S
        )
        killer.note()
        return one

    async def all_of_them() -> list[kq.Evaluation]:
        async with kq.AsyncClient(short_lease_broker.url) as client:
            return list(await asyncio.gather(*(evaluation(client, job) for job in jobs())))

    worker = FakeWorker(short_lease_broker.url, judge)
    try:
        got = asyncio.run(all_of_them())
    finally:
        killer.join()
        worker.close()
    check(short_lease_broker.url, got)
