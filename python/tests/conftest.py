"""Fixtures for all tests: a folder and URL of their own, a scripted and a real broker, and both kinds of clients.

The real broker is the program kq-broker in the folder KQ_BIN, else the newest one that was built in this checkout.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from examples import ROOT
from fake_worker import DEVICE, GPU, FakeWorker, judge
from hypothesis import settings
from scripted_broker import Answer, ScriptedBroker

import kq
from kq.calls import operations

STOP_LIMIT_S = 60

# Hypothesis draws the same examples in every run, without a deadline that a busy machine could exceed.
settings.register_profile("kq", database=None, deadline=None, derandomize=True)
settings.load_profile("kq")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a broker that works may need longer for an answer than a user should wait."""
    monkeypatch.setattr(operations, "ANSWER_TIMEOUT_S", 60.0)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A temporary folder with a short path, because the path of a socket is limited to about a hundred bytes."""
    with tempfile.TemporaryDirectory(prefix="kq.") as name:
        yield Path(name)


@pytest.fixture
def url(folder: Path) -> str:
    return f"ipc://{folder}/broker.sock"


@pytest.fixture
def scripted(url: str) -> Iterator[Callable[[Answer], ScriptedBroker]]:
    """Returns a function that starts a broker whose answers are a given function."""
    started: list[ScriptedBroker] = []

    def start(answer: Answer) -> ScriptedBroker:
        started.append(ScriptedBroker(url, answer))
        return started[-1]

    yield start
    for broker in started:
        broker.close()


class BlockingAsyncClient:
    """An AsyncClient with the blocking interface of Client, so that one test covers both clients."""

    def __init__(self, url: str, key: Path | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = self._loop.run_until_complete(self._made(url, key))

    @staticmethod
    async def _made(url: str, key: Path | None) -> kq.AsyncClient:
        return kq.AsyncClient(url, key)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._client, name)
        return lambda *args, **kwargs: self._loop.run_until_complete(call(*args, **kwargs))

    def each_row(self, *args: Any) -> list[kq.RunRow]:
        async def rows() -> list[kq.RunRow]:
            return [row async for row in self._client.each_row(*args)]

        return self._loop.run_until_complete(rows())

    def close(self) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()


@pytest.fixture(params=[kq.Client, BlockingAsyncClient], ids=["sync", "async"])
def connect(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Returns a function that makes a client; each test runs with both kinds."""
    made: list[Any] = []

    def make(url: str, key: Path | None = None) -> Any:
        made.append(request.param(url, key))
        return made[-1]

    yield make
    for client in made:
        client.close()


def program(name: str) -> Path:
    """Returns the path of a program: in KQ_BIN, else the newest one built here. Skips the test if there is none."""
    if folder := os.environ.get("KQ_BIN"):
        return Path(folder) / name  # if the program is missing, the tests that need it fail
    built = sorted(ROOT.glob(f"build/*/bin/{name}"), key=lambda path: path.stat().st_mtime)
    if not built:
        pytest.skip(f"no {name} is built; build it, or name its folder in KQ_BIN")
    return built[-1]


class RealBroker:
    """A running kq-broker with its own store."""

    def __init__(self, url: str, store: Path, *words: str) -> None:
        self.url = url
        self._command = [str(program("kq-broker")), "--bind", url, "--store", str(store), "--log-level", "warning"]
        self._command += words
        self.start()

    def start(self) -> None:
        ours, theirs = os.pipe()
        self._process = subprocess.Popen([*self._command, "--ready-fd", str(theirs)], pass_fds=[theirs])
        os.close(theirs)
        with open(ours) as ready:
            assert ready.readline() == f"ready {self.url}\n"

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(STOP_LIMIT_S)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(STOP_LIMIT_S) == 0


@pytest.fixture
def broker(url: str, folder: Path) -> Iterator[RealBroker]:
    broker = RealBroker(url, folder / "store")
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def shared_broker() -> Iterator[str]:
    """The URL of a broker with a fake worker. Many tests share the broker; each uses its own runs and sources."""
    with tempfile.TemporaryDirectory(prefix="kq.") as name:
        broker = RealBroker(f"ipc://{name}/broker.sock", Path(name) / "store")
        worker = FakeWorker(broker.url, judge, [DEVICE, GPU])
        yield broker.url
        worker.close()
        broker.stop()
