"""Runs the snippets of docs/user/python.md one after another, with a real broker and a fake worker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from examples import ROOT

SNIPPETS = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


@pytest.fixture
def place(shared_broker: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the snippets run. It has the examples of the checkout."""
    monkeypatch.setenv("KQ_BROKER", shared_broker)
    (folder / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(folder)
    return folder


def test_every_snippet_of_the_document_runs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    snippets = SNIPPETS.findall((ROOT / "docs/user/python.md").read_text())
    for number, snippet in enumerate(snippets):
        exec(compile(snippet, f"docs/user/python.md, snippet {number}", "exec"), names)
    names["client"].close()
    count = len(names["kernels"])
    assert [one.reward for one in names["evaluations"]] == names["rewards"]
    assert len(names["outcomes"]) == count and all(one.passed for one in names["outcomes"])
    assert names["score"] == 500_000 and len(names["results"]) == count
    assert names["row_count"] == len(names["rows"]) == count
    assert (place / "tuesday.parquet").is_file() and (place / "dataset/README.md").is_file()
    assert "passed 1.5" in capsys.readouterr().out
