"""Tests Parquet files and Hugging Face folders: contents, row groups, shards, and that they appear complete."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kq import export, huggingface, parquet
from kq.errors import BadInput
from kq.records.jobs import RunRow
from kq.tables.columns import Row
from kq.tables.partial_output import partial_file, partial_folder

NOON = datetime(2026, 11, 21, 12, 0, 0, 123_000, tzinfo=timezone.utc)


def rows(count: int) -> Iterator[Row]:
    for i in range(count):
        yield Row(
            job_id=i + (1 << 53),
            run="r",
            label=f"größer/{i}",
            submitted_at=NOON,
            median_us=i / 3 if i % 2 else None,
            build_cached=bool(i % 3),
            device_model="NVIDIA H200",
            message='"quoted", 行\n',
        )


def lines(count: int) -> bytes:
    """Returns the rows as JSON Lines in the form that kq-dump writes."""
    as_text = {"submitted_at": "2026-11-21T12:00:00.123000Z"}
    plain = (vars(row) | {"job_id": str(row.job_id)} | as_text for row in rows(count))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in plain).encode()


def read(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]


def test_rows_read_back_equal(tmp_path: Path) -> None:
    wanted = [dataclasses.asdict(row) for row in rows(300)]
    assert parquet.to_parquet(rows(300), tmp_path / "a.parquet") == 300
    assert read(tmp_path / "a.parquet") == wanted
    (tmp_path / "b.jsonl").write_bytes(lines(300))
    assert export.run(["--input", str(tmp_path / "b.jsonl"), "-o", str(tmp_path / "b.parquet")]) == 0
    assert read(tmp_path / "b.parquet") == wanted
    assert pq.read_schema(tmp_path / "a.parquet").equals(pq.read_schema(tmp_path / "b.parquet"))


def test_rows_are_written_in_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BATCH_ROWS", 10)
    monkeypatch.setattr(parquet, "GROUP_ROWS", 20)
    parquet.to_parquet(rows(51), tmp_path / "a.parquet")
    file = pq.ParquetFile(tmp_path / "a.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [20, 20, 11]


def test_chosen_columns_and_those_below_the_job_keep_their_types(tmp_path: Path) -> None:
    text = b'{"label": "a", "side": "reference", "sample_n": 3, "sample_us": 2, "news": {"x": 1}}\n'
    parquet.to_parquet(export.rows_of_lines(io.BytesIO(text), "x"), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == [
        {"label": "a", "side": "reference", "sample_n": 3, "sample_us": 2.0, "news": '{"x": 1}'}
    ]


def test_a_folder_for_hugging_face_has_a_card_and_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface, "SHARD_BYTES", 1)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 10)
    monkeypatch.setattr(parquet, "GROUP_ROWS", 10)
    (tmp_path / "a.jsonl").write_bytes(lines(25))
    arguments = ["--input", str(tmp_path / "a.jsonl"), "--format", "hf", "-o", str(tmp_path / "set")]
    assert export.run(arguments) == 0
    shards = sorted(path.name for path in (tmp_path / "set/data").iterdir())
    assert shards == [f"train-{i:05}-of-00003.parquet" for i in range(3)]
    found = [row for name in shards for row in read(tmp_path / "set/data" / name)]
    assert found == [dataclasses.asdict(row) for row in rows(25)]
    card = (tmp_path / "set/README.md").read_text()
    assert card.startswith(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: data/train-*.parquet\n"
    )
    assert "25 evaluations" in card and "NVIDIA H200" in card and "| `median_us` | double |" in card
    assert export.run(arguments) == 2  # the folder exists already
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "set"]


@pytest.mark.parametrize("form", list(export.FORMATS))
def test_an_export_that_fails_leaves_nothing(tmp_path: Path, form: str) -> None:
    def broken() -> Iterator[Row]:
        yield from rows(2 * parquet.BATCH_ROWS)
        raise BadInput("broken off")

    (tmp_path / "kept").write_text("as it was")
    with pytest.raises(BadInput, match="broken off"):
        export.FORMATS[form](broken(), str(tmp_path / "out"))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert export.FORMATS[form](iter([]), str(tmp_path / "out")) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_partial_output_is_overwritten_and_has_one_writer(tmp_path: Path) -> None:
    (tmp_path / ".a.parquet.partial").write_bytes(b"x" * 100_000)
    (tmp_path / ".a.partial" / "data").mkdir(parents=True)
    (tmp_path / ".a.partial" / "data" / "train-7.parquet").write_text("half")
    assert parquet.to_parquet(rows(3), tmp_path / "a.parquet") == 3
    assert huggingface.to_huggingface(rows(3), tmp_path / "a") == 3
    assert len(read(tmp_path / "a.parquet")) == 3
    assert [path.name for path in (tmp_path / "a" / "data").iterdir()] == ["train-00000-of-00001.parquet"]

    with partial_file(tmp_path / "b.parquet"), partial_folder(tmp_path / "b"):
        for write, name in ((parquet.to_parquet, "b.parquet"), (huggingface.to_huggingface, "b")):
            with pytest.raises(BadInput, match=f"{name} is being written by another process"):
                write(rows(1), tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.parquet"]


def test_lines_that_arrow_does_not_accept_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "CHUNK_BYTES", 2_000)  # a chunk holds a few lines
    plain = [
        {"job_id": i, "label": "größer", "median_us": i / 3, "submitted_at": "2026-11-21T12:00:00.123000Z"}
        for i in range(99)
    ]
    odd = [{"job_id": str((1 << 53) + 1), "label": "b"}, {"median_us": 7}]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in plain + odd + plain)
    assert export.lines_to_parquet(io.BytesIO(b"\n" + text.encode()), "x", tmp_path / "a.parquet") == 200
    got = read(tmp_path / "a.parquet")
    assert got[99] == {"job_id": (1 << 53) + 1, "label": "b", "median_us": None, "submitted_at": None}
    assert got[100]["median_us"] == 7.0 and got[:99] == got[101:]
    assert got[0]["submitted_at"] == NOON


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"nonsense\n", "x:1: is not a JSON object"),
        (b"[]\n", "x:1: is not a JSON object"),
        (b'{"label": "a"}\n\n{"label": "b", "more": 1}\n', "x:3: has a column 'more' that the first row does not have"),
        (b'{"schema": "kq.result/2"}\n', "x:1: its schema is 'kq.result/2'; this version reads kq.result/1"),
        (b'{"job_id": true}\n', "x:1: true is not of type int"),
        (b'{"job_id": "18446744073709551615"}\n', "x:1: 18446744073709551615 is larger than"),
        (b'{"median_us": "fast"}\n', 'x:1: "fast" is not of type float'),
        (b'{"submitted_at": "yesterday"}\n', "x:1: "),
        (b'{"label": "\\ud800"}\n', "one of the rows 1 to 1: "),
    ],
)
def test_a_line_that_is_not_a_row_is_refused(tmp_path: Path, text: bytes, sentence: str) -> None:
    for write in (
        lambda: parquet.to_parquet(export.rows_of_lines(io.BytesIO(text), "x"), tmp_path / "a.parquet"),
        lambda: export.lines_to_parquet(io.BytesIO(text), "x", tmp_path / "a.parquet"),
    ):
        with pytest.raises(BadInput) as raised:
            write()
        assert str(raised.value).startswith(sentence)
        assert list(tmp_path.iterdir()) == []


def test_errors_have_the_exit_codes_of_kq(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").touch()
    out = str(tmp_path / "no/such/a.parquet")
    assert export.run(["--input", "/nowhere", "-o", out]) == 2
    assert export.run(["--input", str(tmp_path / "empty"), "-o", out]) == 5
    (tmp_path / "a.jsonl").write_bytes(lines(1))
    assert export.run(["--input", str(tmp_path / "a.jsonl"), "-o", out]) == 2
    assert export.run(["--input", str(tmp_path / "a.jsonl"), "-o", str(tmp_path)]) == 2
    monkeypatch.setattr(parquet, "pa", None)
    assert export.run(["--input", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / "a.parquet")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "kq export: /nowhere: No such file or directory"
    assert said[1].endswith("empty holds no row") and "cannot be written" in said[2]
    assert said[3] == f"kq export: {tmp_path} is a folder; the name of a file is needed"
    assert said[4] == "kq export: Parquet needs pyarrow, which is not installed: pip install pyarrow"


def test_rows_of_several_runs_follow_each_other() -> None:
    class Runs:
        def each_row(self, run: str) -> Iterator[RunRow]:
            return iter([RunRow(run=run)] * {"a": 2, "b": 1}[run])

    client: Any = Runs()
    assert [row.run for row in export.rows_of_runs(client, ["b", "a"])] == ["b", "a", "a"]


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet.gz"])
def test_a_file_of_parquet_does_not_get_the_ending_of_another_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(1))
    assert export.run(["--input", str(tmp_path / "a.jsonl"), "-o", str(tmp_path / name)]) == 2
    said = capsys.readouterr().err
    assert f"{name} would be a file of Parquet: name FILE.parquet; kq-dump writes CSV and JSON Lines" in said
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_standard_output_is_refused_as_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(lines(1))
    with pytest.raises(SystemExit) as end:
        export.run(["--input", "a.jsonl", "-o", "-"])
    assert end.value.code == 2 and "no format can be written to standard output" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
