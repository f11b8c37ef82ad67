"""Tests calls in the form of popcorn-cli: the leaderboard and GPU of a submission, and what an interrupt leaves."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from conftest import STOP_LIMIT_S, RealBroker, program
from examples import ROOT, passed
from fake_worker import DEVICE, GPU, FakeWorker

import kq
from kq.popcorn import evaluation
from kq.popcorn.__main__ import cli
from kq.popcorn.directives import directives_of
from kq.popcorn.evaluation import submit_and_wait
from kq.popcorn.gpus import gpus_of
from kq.popcorn.leaderboards import leaderboards_in
from kq.wire.messages import BrokerReply, WorkerStatus

PROBLEM = ROOT / "examples/popcorn/vector_add"
CODE = re.sub("^#!POPCORN.*\n", "", (PROBLEM / "submission.py").read_text(), flags=re.M)
SET = """
name: Sums  # of vectors
deadline: ""
problems:
  - directory: set/add_py
    name: add_v2  # another name than that of its folder
    gpus:
      - H100
  - {name: "add, again", directory: 'set/again'}
"""


class Popcorn:
    """Calls of popcorn-cli in the current folder, and the runs that they have sent to a broker."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.runs: list[str] = []

    def __call__(self, code: str, *words: str) -> int:
        Path("code.py").write_text(code)
        return cli(["submit", "--no-tui", "--mode", "test", *words, "code.py"])

    def submit_and_wait(self, run: str, words: Sequence[str]) -> None:
        submit_and_wait(run, words)
        self.runs.append(run)

    def sent(self) -> tuple[str, str, str]:
        """Returns the problem, the device and the GPU of the last submission."""
        with kq.Client(self.url) as client:
            [row] = client.results(self.runs[-1])
        submission = row.entry.submission
        return submission.problem.name, submission.device.value, submission.gpu_model


@pytest.fixture
def checkout(folder: Path) -> Path:
    """A checkout with the leaderboards add_v2, "add, again", sub and vector_add."""
    problems = folder / "checkout/problems"
    shutil.copytree(ROOT / "examples/popcorn", problems)
    for name in ("sub", "set/add_py", "set/again", "set/.hidden"):
        shutil.copytree(PROBLEM, problems / name)
    shutil.copy(PROBLEM.parent / "eval.py", problems / "set")
    (problems / "sums.yaml").write_text(SET)
    return problems.parent


@pytest.fixture(scope="module")
def judged() -> Iterator[str]:
    """The URL of a broker with a worker that has a CPU and an H100, on which all kernels pass."""
    with tempfile.TemporaryDirectory(prefix="kq.") as name:
        broker = RealBroker(f"ipc://{name}/broker.sock", Path(name) / "store")
        worker = FakeWorker(broker.url, lambda lease: passed(), [DEVICE, GPU])
        yield broker.url
        worker.close()
        broker.stop()


@pytest.fixture
def submit(judged: str, checkout: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Popcorn:
    monkeypatch.setenv("KQ_POPCORN", str(checkout))
    monkeypatch.setenv("KQ_BROKER", judged)
    monkeypatch.setenv("KQ_PROGRAM", str(program("kq")))
    monkeypatch.delenv("KQ_SUBMIT_OPTIONS", raising=False)
    monkeypatch.chdir(folder)
    popcorn = Popcorn(judged)
    monkeypatch.setattr(evaluation, "submit_and_wait", popcorn.submit_and_wait)
    return popcorn


def test_the_flag_wins_over_the_leaderboard_of_the_file(submit: Popcorn) -> None:
    code = f"#!POPCORN leaderboard sub\n# 1\n{CODE}"
    assert submit(code, "--leaderboard", "Add_V2") == 0
    assert submit.sent() == ("popcorn/add_v2", "any", "")
    assert submit(code) == 0
    assert submit.sent()[0] == "popcorn/sub"


def test_a_path_with_the_name_of_a_leaderboard_is_not_the_problem(submit: Popcorn) -> None:
    shutil.copytree(PROBLEM, "add_v2")
    Path("sub").touch()
    for name in ("add_v2", "sub"):
        assert submit(f"# 2\n{CODE}", "--leaderboard", name) == 0
        assert submit.sent()[0] == f"popcorn/{name}"
    for path in ("checkout/problems/sub", ".", ".."):
        with pytest.raises(kq.BadInput, match="leaderboard"):
            submit(CODE, "--leaderboard", path)


def test_an_unknown_leaderboard_is_an_error_that_lists_the_known_ones(submit: Popcorn, checkout: Path) -> None:
    sentence = f"there is no leaderboard nope in {checkout}; there are add, again, add_v2, sub, vector_add"
    for code, words in ((CODE, ["--leaderboard", "nope"]), (f"#!POPCORN leaderboard nope\n{CODE}", [])):
        with pytest.raises(kq.BadInput, match=f"^{sentence}$"):
            submit(code, *words)
    assert leaderboards_in(checkout / "problems") == ["add, again", "add_v2", "sub", "vector_add"]
    assert leaderboards_in(checkout / "none") == []
    assert submit.runs == []


def test_a_leaderboard_must_be_named(submit: Popcorn) -> None:
    sentence = "no leaderboard is named: --leaderboard NAME names it, or a line '#!POPCORN leaderboard NAME' in code.py"
    with pytest.raises(kq.BadInput, match=f"^{sentence}$"):
        submit(CODE)


def test_a_file_that_cannot_be_read_is_bad_input(submit: Popcorn) -> None:
    Path("latin.py").write_bytes(b"# \xe4")
    for name in ("none.py", "latin.py", "."):
        with pytest.raises(kq.BadInput, match=f"^{name} cannot be read: "):
            cli(["submit", "--leaderboard", "sub", name])


def test_gpus_are_those_of_the_gateway(submit: Popcorn, monkeypatch: pytest.MonkeyPatch) -> None:
    name = ["--leaderboard", "sub"]
    for gpu, device, model in (
        ("cpu", "cpu", ""),
        ("h100", "any", GPU.model),
        (GPU.model, "any", GPU.model),
        ("NVIDIA", "any", ""),
    ):
        assert submit(f"# on {gpu}\n{CODE}", "--gpu", gpu, *name) == 0
        assert submit.sent() == ("popcorn/sub", device, model)
    monkeypatch.setenv("KQ_SUBMIT_OPTIONS", "--priority high --device cpu")
    assert submit(f"# twice\n{CODE}", "--gpu", "CPU", *name) == 0
    assert submit.sent()[1] == "cpu"


def test_a_gpu_that_no_worker_has_is_an_error(submit: Popcorn, monkeypatch: pytest.MonkeyPatch) -> None:
    name = ["--leaderboard", "sub"]
    sentence = "no connected worker has a GPU L40S; there are H100, CPU"
    for code, words in ((CODE, ["--gpu", "L40S"]), (f"#!POPCORN gpus L40S\n{CODE}", [])):
        with pytest.raises(kq.BadInput, match=f"^{sentence}$"):
            submit(code, *words, *name)
    assert submit.runs == []


def test_the_gpu_of_the_file_is_for_calls_without_the_flag(submit: Popcorn) -> None:
    assert submit(f"#!POPCORN leaderboard sub\n#!POPCORN gpu H100\n# 3\n{CODE}") == 0
    assert submit.sent()[2] == GPU.model
    several = f"#!POPCORN leaderboard sub\n#!POPCORN gpus A100 H100\n{CODE}"
    sentence = "code.py names 2 GPUs, A100 and H100, but a submission runs on one: --gpu NAME chooses it"
    with pytest.raises(kq.BadInput, match=f"^{sentence}$"):
        submit(several)
    assert submit(several, "--gpu", "CPU") == 0
    assert submit.sent()[1] == "cpu"


def test_lines_of_a_file_are_read_as_popcorn_cli_reads_them() -> None:
    lines = ("//!POPCORN Leaderboard a", "#!POPCORN GPUS L4 T4", " #!POPCORN leaderboard indented", "#!POPCORN gpu")
    found = directives_of("\n".join([*lines, "#!POPCORN leaderboard b c", "#!POPCORN leaderboard", "# POPCORN gpu X"]))
    assert (found.leaderboard, found.gpus) == ("b", [])
    assert directives_of("\n".join(lines[:3]) + "\r\n").gpus == ["L4", "T4"]
    assert directives_of("").leaderboard == ""


def test_gpus_have_the_short_names_of_the_gateway() -> None:
    def names(*models: str) -> list[str]:
        devices = [kq.DeviceInfo(kq.DeviceKind.CUDA, model) for model in models]
        return [gpu.name for gpu in gpus_of(BrokerReply(workers=[WorkerStatus(devices=[*devices, DEVICE])]))]

    models = ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 4090")  # those of job_test.cc
    assert names(*models) == ["A100", "H100", "RTX_4090", "CPU"]
    several = ["A100", "NVIDIA_H100_80GB_HBM3", "NVIDIA_H100_PCIe", "RTX_4090", "CPU"]
    assert names(*models, "NVIDIA H100 PCIe") == several
    assert names("NVIDIA", "Tesla T4") == ["GPU", "T4", "CPU"]


class Waiting:
    """A call of popcorn-cli whose job waits in the queue of a broker without workers."""

    def __init__(self, broker: RealBroker, checkout: Path, folder: Path) -> None:
        (folder / "code.py").write_text(CODE)
        env = os.environ | {
            "KQ_BROKER": broker.url,
            "KQ_POPCORN": str(checkout),
            "KQ_PROGRAM": str(program("kq")),
            "PYTHONPATH": str(ROOT / "python"),
        }
        words = ["-m", "kq.popcorn", "cli", "submit", "--leaderboard", "sub", "code.py"]
        self.broker = broker
        self.process = subprocess.Popen(
            [sys.executable, *words], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.await_queued()

    def await_queued(self) -> None:
        end = time.monotonic() + STOP_LIMIT_S
        with kq.Client(self.broker.url) as client:
            while client.status().queued == 0:
                assert time.monotonic() < end and self.process.poll() is None
                time.sleep(0.01)

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Sends the signal and returns the exit code and what the program says."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=STOP_LIMIT_S)
        return self.process.returncode, said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupt_cancels_the_job(
    number: signal.Signals, code: int, broker: RealBroker, checkout: Path, folder: Path
) -> None:
    ended, said = Waiting(broker, checkout, folder).end(number)
    assert (ended, said) == (code, "kq.popcorn: interrupted, and its job is cancelled\n")
    with kq.Client(broker.url) as client:
        assert client.status().queued == 0


def test_an_interrupt_leaves_the_job_of_another_call(broker: RealBroker, checkout: Path, folder: Path) -> None:
    first, second = Waiting(broker, checkout, folder), Waiting(broker, checkout, folder)
    end = time.monotonic() + STOP_LIMIT_S
    runs = [program("kq"), "ctl", "runs", "--json", "--broker", broker.url]
    while len(json.loads(subprocess.run(runs, capture_output=True, check=True).stdout)["runs"]) < 2:
        assert time.monotonic() < end
    with kq.Client(broker.url) as client:
        ended, said = second.end(signal.SIGTERM)
        assert ended == 143 and "kq ctl cancel --run popcorn-" in said
        assert client.status().queued == 1
    assert first.end(signal.SIGINT)[0] == 130
