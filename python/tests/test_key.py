"""Tests key files, and both clients with a real broker that requires keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zmq
from conftest import RealBroker
from examples import submission

import kq
from kq.connection.key import Key, given_key
from kq.connection.submitter import DefaultRun, run_of

Connect = Callable[..., Any]


class Keys:
    """A broker's folder of keys, in the form that docs/operator/security.md describes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.broker, secret = (text.decode() for text in zmq.curve_keypair())
        (folder / "authorized").write_text("# nobody yet\n")
        write_secret(folder / "broker.key", f"kq broker key 1\npublic {self.broker}\nsecret {secret}\n")

    def issue(self, name: str, role: str, broker: str | None = None) -> Path:
        public, secret = (text.decode() for text in zmq.curve_keypair())
        path = self.folder.parent / f"{name}.key"
        lines = ("kq client key 1", "# a comment", f"name {name}", f"role {role}", f"public {public}")
        write_secret(path, "\n".join((*lines, f"secret {secret}", f"broker {broker or self.broker}", "")))
        return path

    def authorize(self, path: Path) -> None:
        fields = dict(line.split(" ", 1) for line in path.read_text().splitlines()[2:])
        with (self.folder / "authorized").open("a") as file:
            file.write(f"{fields['role']} {fields['name']} {fields['public']}\n")


def write_secret(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of root and take another id")
@pytest.mark.parametrize(("mode", "error"), [(0o440, ""), (0o640, ""), (0o444, "holds a secret"), (0o660, "holds a")])
def test_a_secret_of_root_may_be_read_by_the_group_of_the_process(folder: Path, mode: int, error: str) -> None:
    other = 54321
    path = Keys(folder / "keys").issue("alice", "submit")
    os.chown(path, 0, other)
    path.chmod(mode)
    path.parent.chmod(0o711)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(other)
            os.setuid(other)
            try:
                code = 0 if Key.read(path).name == "alice" and not error else 2
            except kq.BadInput as refused:
                code = 0 if error and error in str(refused) else 3
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.fixture
def keys(folder: Path) -> Keys:
    return Keys(folder / "keys")


@pytest.fixture
def guarded(url: str, folder: Path, keys: Keys) -> Iterator[RealBroker]:
    broker = RealBroker(url, folder / "store", "--keys", str(keys.folder))
    yield broker
    broker.stop()


def test_an_authorized_key_is_accepted(connect: Connect, guarded: RealBroker, keys: Keys) -> None:
    for role in ("submit", "admin"):
        path = keys.issue(role, role)
        keys.authorize(path)
        assert connect(guarded.url, path).status().queued == 0


def test_the_key_may_come_from_the_environment(
    connect: Connect, guarded: RealBroker, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = keys.issue("ada", "submit")
    keys.authorize(path)
    monkeypatch.setenv("KQ_KEY", str(path))
    assert connect(guarded.url).status().queued == 0


def test_a_client_without_a_key_is_refused_immediately(connect: Connect, guarded: RealBroker) -> None:
    with pytest.raises(kq.BadInput, match="refuses the connection: it .*give the path of your key as key or KQ_KEY"):
        connect(guarded.url).status()


def test_a_key_for_a_broker_without_keys_is_refused(connect: Connect, broker: RealBroker, keys: Keys) -> None:
    with pytest.raises(kq.BadInput, match="it runs without keys"):
        connect(broker.url, keys.issue("ada", "submit")).status()


def test_a_key_of_another_broker_is_refused(connect: Connect, guarded: RealBroker, keys: Keys) -> None:
    other = zmq.curve_keypair()[0].decode()
    with pytest.raises(kq.BadInput, match="refuses the connection: .*key"):
        connect(guarded.url, keys.issue("ada", "submit", other)).status()


def test_a_client_works_once_its_key_is_authorized(connect: Connect, guarded: RealBroker, keys: Keys) -> None:
    path = keys.issue("ada", "submit")
    client = connect(guarded.url, path)
    for _ in range(2):
        with pytest.raises(kq.BadInput, match="it does not accept this key"):
            client.status()
    keys.authorize(path)
    assert client.status().queued == 0


def test_a_key_file_holds_name_role_and_broker(keys: Keys) -> None:
    path = keys.issue("ada", "submit")
    key = given_key(path)
    assert key is not None
    assert (key.name, key.role, key.broker) == ("ada", "submit", keys.broker)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ssh-ed25519 AAAA", "its first line is not 'kq client key 1'"),
        ("kq client key 1\nnom a", "'nom' is not a field"),
        ("kq client key 1\nname a\nname b", "'name' is given twice"),
        ("kq client key 1\nname a\nrole submit\npublic x\nsecret x", "has no line 'broker ...'"),
        ("kq client key 1\nname a\nrole submit\npublic x\nsecret x\nbroker x", "a key is 40 characters of Z85"),
        ("x" * 5_000, "is longer than 4096 bytes"),
    ],
)
def test_a_malformed_key_file_is_refused(folder: Path, text: str, sentence: str) -> None:
    write_secret(folder / "x.key", text)
    with pytest.raises(kq.BadInput, match=sentence):
        kq.Client("ipc:///tmp/nobody", folder / "x.key")


def test_a_key_with_open_permissions_or_another_role_is_refused(keys: Keys) -> None:
    with pytest.raises(kq.BadInput, match="No such file"):
        Key.read("/nowhere/ada.key")
    with pytest.raises(
        kq.BadInput, match="belongs to 'gpu' with the role work; a client needs a key with the role submit or admin"
    ):
        Key.read(keys.issue("gpu", "work"))
    path = keys.issue("ada", "submit")
    os.chmod(path, 0o640)
    with pytest.raises(kq.BadInput, match="holds a secret and other users may read or write it"):
        Key.read(path)


def test_the_hash_of_a_file_is_not_enough_to_use_or_read_it(connect: Connect, guarded: RealBroker, keys: Keys) -> None:
    ada, bob = (keys.issue(name, "submit") for name in ("ada", "bob"))
    for path in (ada, bob):
        keys.authorize(path)
    owner, thief = connect(guarded.url, ada), connect(guarded.url, bob)
    job = submission("relu/a", "class ModelNew: secret = 1")
    (ack,) = owner.submit("r", [job])
    assert ack.acceptance is kq.Acceptance.ACCEPTED

    by_hash = replace(job, files=[replace(file, content=None) for file in job.files])
    for stolen in (by_hash, replace(by_hash, salt="other work")):
        (ack,) = thief.submit("mine", [stolen])
        assert ack.acceptance is kq.Acceptance.REFUSED
        assert "bob has not sent them before; send its bytes along" in ack.reason
    (ack,) = owner.submit("r", [replace(by_hash, label="again", salt="more")])
    assert ack.acceptance is kq.Acceptance.ACCEPTED

    with pytest.raises(kq.BadInput, match="are for its submitter and those with whom its run is shared"):
        thief.sources("r", "relu/a")
    with pytest.raises(kq.BadInput, match="run 'r' belongs to ada"):
        thief.submit("r", [submission("relu/a", "class ModelNew: evil = 1")])
    owner.share("r", ["bob"])
    assert thief.sources("r", "relu/a") == {job.files[0].name: b"class ModelNew: secret = 1"}
    owner.share("r", ["bob"], shared=False)
    with pytest.raises(kq.BadInput, match="are for its submitter"):
        thief.sources("r", "relu/a")


def test_a_default_run_has_the_name_of_the_key(tmp_path: Path) -> None:
    key = Key("ada", "submit", "p" * 40, "s" * 40, "b" * 40)
    assert run_of(DefaultRun("evaluate"), key) == "ada/evaluate"
    assert run_of(DefaultRun("evaluate"), None) == "evaluate"
    assert run_of("evaluate", key) == "evaluate"
