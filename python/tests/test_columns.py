"""Tests that flat rows equal the rows that kq-dump prints for the same broker, and tests the tables for notebooks."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import subprocess
import types
import typing
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import RealBroker, program
from examples import ROOT, ended, passed, submission
from fake_worker import GPU, FakeWorker
from worker_messages import Lease

import kq
from kq import export
from kq.records.verdict import Correctness, Statistics
from kq.tables.columns import Row
from kq.tables.html import SHOWN_MAX, Board, Evaluations, Rows, time_text
from kq.tables.text_table import PRINTED_MAX

TYPES = {"text": str, "integer": int, "number": float, "boolean": bool, "time": datetime}
STATISTICS = Statistics(100, 2_500.5, 2_600.25, 33.125, 2_400, 3_000, 2_900, 2_990)
SUSPECT = kq.Verdict(
    kq.VerdictName.SUSPECT,
    kq.Evidence(kq.Stage.JUDGE, "floor", "<b>too fast</b>", "look", "r1", "a.py:3"),
    kq.Measurement(
        "bracket", STATISTICS, dataclasses.replace(STATISTICS, mean_ns=5_000), 10.5, 0.25, 2_501, 2_500, 2_499
    ),
    Correctness(5, 1e-7, 1e-5),
)
WRONG = kq.Verdict(
    kq.VerdictName.WRONG_ANSWER,
    kq.Evidence(
        kq.Stage.JUDGE, "value", "differs", mismatch=kq.Mismatch(1, 0, 77, 1.5, math.nan, math.inf, 0.125, 3, 1000)
    ),
)
VERDICTS = {"passed": passed(), "suspect": SUSPECT, "wrong": WRONG, "rejected": ended(kq.VerdictName.REJECTED, "no")}


@pytest.fixture
def worker(broker: RealBroker) -> Iterator[FakeWorker]:
    def judge(lease: Lease) -> kq.Verdict:
        return VERDICTS[lease.submission.label]

    worker = FakeWorker(broker.url, judge, [GPU], ["fast"])
    yield worker
    worker.close()


def test_columns_are_those_of_the_table() -> None:
    table = re.findall(r'^    \{"(\w+)", ColumnType::(\w+), "', (ROOT / "tools/table/columns.cc").read_text(), re.M)
    hints = typing.get_type_hints(Row)
    mine = [(one.name, typing.get_args(hints[one.name])) for one in dataclasses.fields(Row)]
    assert mine == [(name, (TYPES[kind], types.NoneType)) for name, kind in table]


def plain(row: Row) -> dict[str, Any]:
    return {
        name: value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value
        for name, value in dataclasses.asdict(row).items()
    }


def test_rows_are_those_of_kq_dump_and_of_its_export(broker: RealBroker, worker: FakeWorker, folder: Path) -> None:
    with kq.Client(broker.url, submitter="ann@lab/all") as client:  # as a kq sweep beside other jobs
        jobs = [
            submission("passed", tags={"b": "2", "a": "1"}, author="ada", priority="high", labels=["fast"]),
            submission("suspect", "# 2", problem=kq.Problem.of("x", "l/p", rtol=0.5, precision="fp16")),
            submission("wrong", "# 3", device="cuda", gpu_model=GPU.model, backend="cuda", contract="{}"),
            submission("rejected", "# 4"),
            submission(
                "queued", "# 5", labels=["nobody"], not_before_ms=1_700_000_000_123, deadline_ms=4_000_000_000_000
            ),
        ]
        acks = client.submit("all", jobs)
        client.wait([ack.seq for ack in acks[:4]], timeout=60)
        rows = client.results("all")
    dumped = subprocess.run(
        [program("kq-dump"), "--broker", broker.url, "--run", "all", "--format", "jsonl"],
        capture_output=True,
        check=True,
    )
    assert {row.submitter for row in rows.flat()} == {"ann@lab"}
    assert [plain(row) for row in rows.flat()] == [json.loads(line) for line in dumped.stdout.splitlines()]

    asked = ["--run", "all", "--broker", broker.url, "-o", str(folder / "asked.parquet")]
    (folder / "all.jsonl").write_bytes(dumped.stdout)
    assert export.run(asked) == export.run(["--input", f"{folder}/all.jsonl", "-o", f"{folder}/read.parquet"]) == 0
    assert pq.read_table(folder / "asked.parquet").equals(pq.read_table(folder / "read.parquet"))
    assert pq.read_table(folder / "asked.parquet").to_pylist() == [vars(row) for row in rows.flat()]
    assert export.run([*asked[:1], "nobody", *asked[2:]]) == 5
    assert export.run(["--run", "nobody", *asked]) == 5


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_none(value: float) -> None:
    mismatch = kq.Mismatch(total=3, got=value, worst_got=1.5, max_abs_err=value)
    verdict = kq.Verdict(kq.VerdictName.WRONG_ANSWER, evidence=kq.Evidence(mismatch=mismatch))
    row = Row.of(kq.RunRow(result=kq.Result(verdict=verdict)))
    assert (row.mismatch_got, row.worst_got, row.max_abs_err) == (None, 1.5, None)


def test_a_row_prints_as_one_line_and_rows_as_a_table() -> None:
    bad = kq.Verdict(name=kq.VerdictName.CRASHED, evidence=kq.Evidence(message="\x1b[2Jsegfault\nat 0x0"))
    crashed = kq.RunRow("r", kq.RunEntry(7, submission("a")), result=kq.Result(verdict=bad))
    assert repr(crashed) == "<RunRow 'a' of run 'r', job 7: crashed, \N{REPLACEMENT CHARACTER}[2Jsegfault>"
    queued = kq.RunRow("r", kq.RunEntry(8, submission("bb")))
    lines = str(Rows([crashed, queued])).split("\n")
    assert [line.split() for line in lines] == [
        ["label", "problem", "verdict", "message"],
        ["a", queued.entry.submission.problem.name, "crashed", "\N{REPLACEMENT CHARACTER}[2Jsegfault"],
        ["bb", queued.entry.submission.problem.name, "queued"],
    ]
    assert repr(Rows([queued]).flat()) == "[<Row 'bb' of run 'r', job 0: queued>]"
    assert str(Rows([queued] * (PRINTED_MAX + 3))).endswith("\nand 3 more") and repr(Rows()) == "no rows"
    best = kq.LeaderboardRow("relu", device_model="GPU", label="a", speedup=1.5)
    assert repr(best) == "<LeaderboardRow 'relu' on 'GPU': 'a', 1.50x>"
    slow = kq.LeaderboardRow("relu", device_model="GPU", label="a", speedup=0.000771)
    assert repr(slow) == "<LeaderboardRow 'relu' on 'GPU': 'a', 0.00077x>"


def test_notebooks_show_tables() -> None:
    row = kq.RunRow("r", kq.RunEntry(1, submission("a")), result=kq.Result(verdict=SUSPECT))
    shown = Rows([row, kq.RunRow("r", kq.RunEntry(2, submission("b")))])._repr_html_()
    assert "<th>label</th>" in shown and "&lt;b&gt;too fast&lt;/b&gt;" in shown and "<td>queued</td>" in shown
    board = Board([kq.LeaderboardRow("relu", label="<x>", median_ns=1_234, speedup=1.5)])
    assert "<td>&lt;x&gt;</td>" in board._repr_html_() and "<td>1.50x</td>" in board._repr_html_()
    assert "busy" not in board._repr_html_()
    busy = kq.LeaderboardRow("relu", median_ns=1_000, noise_ns=30, sample_count=20, is_noisy=True)
    noisy = Board([busy])._repr_html_()
    assert "<td>~1 us ±3%</td>" in noisy and "<td>20</td>" in noisy and "~: the machine was busy" in noisy
    many = Evaluations([kq.Evaluation("r", str(i), failure="gone") for i in range(SHOWN_MAX + 5)])
    assert many._repr_html_().count("<td>gone</td>") == SHOWN_MAX and "and 5 more" in many._repr_html_()
    assert many.rewards == [None] * (SHOWN_MAX + 5)


@pytest.mark.parametrize(
    ("ns", "text"), [(0, ""), (None, ""), (5, "5 ns"), (1_234, "1.23 us"), (45_600_000, "45.6 ms"), (2e9, "2 s")]
)
def test_times_have_units(ns: float | None, text: str) -> None:
    assert time_text(ns) == text
