"""Tests both clients on a network that loses and repeats messages, and their checks of arguments."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examples import MODEL
from scripted_broker import Answer, ScriptedBroker, reply

import kq
from kq.calls import operations
from kq.connection.running import FLOCK
from kq.wire.messages import BrokerReply, Refused

Connect = Callable[[str], Any]
Scripted = Callable[[Answer], ScriptedBroker]


def test_sends_again_with_the_same_number_until_answered(connect: Connect, scripted: Scripted, url: str) -> None:
    broker = scripted(lambda number, _: reply(number, BrokerReply("1")) if len(broker.requests) > 1 else [])
    assert connect(url).status().version == "1"
    assert len({number for number, _ in broker.requests}) == 1 < len(broker.requests)


def test_late_and_repeated_replies_are_ignored(connect: Connect, scripted: Scripted, url: str) -> None:
    def answer(number: int, _: Any) -> list[bytes]:
        return 2 * reply(number - 1, BrokerReply(f"of {number - 1}")) + 2 * reply(number, BrokerReply(f"of {number}"))

    scripted(answer)
    client = connect(url)
    assert [client.status().version for _ in range(3)] == ["of 1", "of 2", "of 3"]


def test_request_that_the_broker_cannot_read_is_refused(connect: Connect, scripted: Scripted, url: str) -> None:
    scripted(lambda number, _: reply(0, Refused("protocol version 1, this program speaks 2")))
    with pytest.raises(kq.BadInput, match="speaks 2"):
        connect(url).status()


def test_an_unreadable_reply_is_an_error(connect: Connect, scripted: Scripted, url: str) -> None:
    scripted(lambda number, _: [b"\x93\x02"])
    with pytest.raises(kq.BrokerUnreachable, match="does not understand .*; do both have the same version"):
        connect(url).status()


def test_an_absent_broker_is_an_error_in_time(connect: Connect, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "ANSWER_TIMEOUT_S", 0.3)
    client = connect(url)
    start = time.monotonic()
    sentence = f"broker {url} did not answer within 0.3 s; is it running\\? start one with: kq up"
    with pytest.raises(kq.BrokerUnreachable, match=sentence):
        client.status()
    with pytest.raises(kq.BrokerUnreachable):
        client.wait([1], timeout=0.1)
    assert time.monotonic() - start < operations.SILENCE_S / 2


def test_a_broker_that_starts_later_is_found(connect: Connect, scripted: Scripted, url: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(operations, "ANSWER_TIMEOUT_S", 0.1)
    client = connect(url)
    with pytest.raises(kq.BrokerUnreachable):
        client.status()
    monkeypatch.setattr(operations, "ANSWER_TIMEOUT_S", 30.0)
    scripted(lambda number, _: reply(number, BrokerReply("1")))
    assert client.status().version == "1"


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("localhost:5570", "a URL such as tcp://127.0.0.1:5570 or ipc:///tmp/kq.sock is needed"),
        ("tcp://localhost", "tcp://HOST:PORT is needed"),
        ("tcp://:5570", "tcp://HOST:PORT is needed"),
        ("tcp://::1:5570", "an IPv6 address in brackets"),
        ("tcp://localhost:65535", "the port must be a number from 1 to 65534, got '65535'"),
        ("tcp://localhost:x", "got 'x'"),
        ("ipc://", "no path; ipc://PATH is needed"),
        ("ipc://" + "x" * 100, "longer than the 99 bytes"),
    ],
)
def test_a_malformed_url_is_refused_immediately(url: str, sentence: str) -> None:
    for client in (kq.Client, kq.AsyncClient):
        with pytest.raises(kq.BadInput, match=sentence):
            client(url)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"url": 5}, "url must be a text such as tcp://127.0.0.1:5570, got int"),
        ({"submitter": 5}, "submitter must be a text, got int"),
        ({"key": b"key"}, "key must be the path of a key file, got bytes"),
    ],
)
def test_arguments_of_a_wrong_type_are_refused(arguments: dict[str, Any], sentence: str) -> None:
    for client in (kq.Client, kq.AsyncClient):
        with pytest.raises(kq.BadInput, match=sentence):
            client(**arguments)


def test_an_integer_as_key_closes_no_descriptor() -> None:
    with open("/dev/null", "rb") as mine:
        with pytest.raises(kq.BadInput, match="key must be the path of a key file, got int"):
            kq.Client(key=mine.fileno())  # type: ignore[arg-type]
        assert (
            mine.read() == b""
        )  # if the client closed the descriptor, its own sockets could be closed too, which aborts the process


def test_a_wrong_progress_argument_is_refused_before_anything_is_sent(
    connect: Connect, scripted: Scripted, url: str
) -> None:
    broker = scripted(lambda number, _: [])
    with pytest.raises(kq.BadInput, match="progress must be True or a function that takes a Tally, got str"):
        connect(url).evaluate_many(["class ModelNew: ..."], problem=kq.Problem.of(MODEL, "relu"), progress="yes")
    assert broker.requests == []


def test_both_clients_have_the_same_calls() -> None:
    calls, of_tasks = (
        {name for name, call in vars(kind).items() if callable(call) and name[0] != "_"}
        for kind in (kq.Client, kq.AsyncClient)
    )
    assert calls == of_tasks


def test_a_client_of_two_brokers_goes_to_the_one_that_serves(connect: Connect, folder: Path) -> None:
    urls = [f"ipc://{folder}/{name}.sock" for name in "ab"]
    client = connect(",".join(urls))
    for url in (*urls, urls[0]):
        broker = ScriptedBroker(url, lambda number, _, name=url: reply(number, BrokerReply(name)))  # type: ignore[misc]
        assert client.status().version == url
        broker.close()


@pytest.mark.parametrize("url", ["ipc:///a,", ",ipc:///a", ",".join(["ipc:///a"] * 5), "ipc:///a,http://b"])
def test_a_wrong_list_of_brokers_is_refused(url: str) -> None:
    with pytest.raises(kq.BadInput):
        kq.AsyncClient(url)


def test_url_comes_from_the_environment_unless_given(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KQ_BROKER", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    assert kq.AsyncClient().url == "tcp://127.0.0.1:5570"
    monkeypatch.setenv("KQ_BROKER", "tcp://gpu-host:7000")
    assert kq.AsyncClient().url == "tcp://gpu-host:7000"
    assert kq.AsyncClient("tcp://[::1]:7001").url == "tcp://[::1]:7001"


def test_the_broker_of_a_running_kq_up_is_found_and_named(folder: Path, url: str, monkeypatch: Any) -> None:
    monkeypatch.delenv("KQ_BROKER", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.setattr(operations, "ANSWER_TIMEOUT_S", 0.1)
    (folder / "kq").mkdir()
    (folder / "kq/lock").write_text(f"pid 7\nurl {url}\nchild 8\n")
    assert kq.AsyncClient().url == "tcp://127.0.0.1:5570"  # no process holds the lock
    with open(folder / "kq/lock", "r+b") as held:
        fcntl.fcntl(held, fcntl.F_OFD_SETLK, FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        assert kq.AsyncClient().url == url
        with kq.Client() as client, pytest.raises(kq.BrokerUnreachable, match=f"which kq up .* runs in {folder}/kq"):
            client.status()


def test_the_broker_of_a_kq_up_with_a_state_folder_of_its_own_is_found(folder: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("KQ_BROKER", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    (folder / "kq").mkdir()
    (folder / "up").mkdir()
    (folder / "kq/last-up").write_text(str(folder / "up"))
    (folder / "up/lock").write_text("pid 7\nurl tcp://127.0.0.1:7100\n")
    assert kq.AsyncClient().url == "tcp://127.0.0.1:5570"  # no process holds the lock
    with open(folder / "up/lock", "r+b") as held:
        fcntl.fcntl(held, fcntl.F_OFD_SETLK, FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        assert kq.AsyncClient().url == "tcp://127.0.0.1:7100"
        (folder / "up").chmod(0o777)  # another user could have put the lock file there
        assert kq.AsyncClient().url == "tcp://127.0.0.1:5570"


def test_a_status_is_printed_as_a_sentence_and_not_as_its_structure() -> None:
    gpu = kq.DeviceInfo(kq.DeviceKind.CUDA, "NVIDIA H100")
    workers = [
        kq.WorkerStatus("n1", devices=[gpu, gpu], running=2),
        kq.WorkerStatus("n2", devices=[kq.DeviceInfo(kq.DeviceKind.CPU)], draining=True),
        kq.WorkerStatus("b1", builds_for=[gpu]),
    ]
    assert str(BrokerReply("1", queued=3, leased=2, workers=workers)) == (
        "kq 1: 3 queued, 2 running; workers: n1 (NVIDIA H100, NVIDIA H100, 2 running), n2 (cpu, idle, draining), "
        "b1 (only builds, idle)"
    )
