"""Writes rows to a folder in the form of a Hugging Face data set, ready to be uploaded.

The folder holds README.md, which is the data set card, and files such as data/train-00000-of-00002.parquet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from kq.errors import BadInput, Error
from kq.parquet import COMPRESSION, Sink, batched, need_pyarrow, schema_of, sync_to_disk
from kq.tables.columns import SCHEMA, Row
from kq.tables.partial_output import partial_folder

SHARD_BYTES = 256 << 20  # a new Parquet file begins when the current one has so many bytes
NOTED_MAX = 20  # how many different devices, methods and runs the card names
SPLIT = re.compile(r"\w+(\.\w+)*")

CARD = """\
---
configs:
- config_name: default
  data_files:
  - split: {split}
    path: data/{split}-*.parquet
license: other
tags:
- gpu-kernels
- kq
---

# {title}

{row_count} evaluations of GPU kernels by kq, one row each, in the columns of `{schema}`.

- Runs: {runs}
- Devices: {devices}
- How times were taken: {methods}
- Licence: to be filled in before this data set is published; the kernels belong to their authors.

Times are in microseconds and null where nothing was timed. Only the times of rows whose `verdict` is `passed` count.
The column `fault` says who caused any other verdict. `kq-dump --schema` prints what each column means.

| column | type |
|---|---|
{columns}
"""


class CardFacts:
    """The runs, devices and timing methods of the rows, collected for the card while the rows are written."""

    def __init__(self) -> None:
        self.seen: dict[str, set[str]] = {"run": set(), "device_model": set(), "method": set()}

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Collects the values of these rows."""
        for name, values in self.seen.items():
            for row in rows:
                if len(values) <= NOTED_MAX and (value := row.get(name)):
                    values.add(str(value))

    def text(self, name: str) -> str:
        """Returns a column's values on one line, without characters that Markdown would interpret."""
        values = sorted(re.sub(r"[\x00-\x1f|<>`\[\]]", " ", value) for value in self.seen[name])
        more = " and more" if len(values) > NOTED_MAX else ""
        return (", ".join(values[:NOTED_MAX]) or "unknown") + more


def to_huggingface(
    rows: Iterable[Row | dict[str, Any]],
    folder: str | Path,
    split: str = "train",
    compression: str = COMPRESSION,
    title: str = "",
) -> int:
    """Writes Rows, or dicts with their columns, to a folder and returns their number.

    Without rows no folder is written. The folder must be new or empty. It appears complete or not at all.
    """
    need_pyarrow()
    folder = Path(folder)
    if not SPLIT.fullmatch(split):
        raise BadInput(f"split '{split}': letters, digits and underscores are needed, such as train")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder}: exists already; a folder that is new or empty is needed")
    batches = batched(rows)
    first = next(batches, None)
    if first is None:
        return 0
    try:
        with partial_folder(folder) as partial:
            (partial / "data").mkdir()
            names, facts = list(first[0]), CardFacts()
            shards: list[Path] = []
            row_count = 0
            waiting = chain([first], batches)
            while (batch := next(waiting, None)) is not None:
                shards.append(partial / "data" / f"{len(shards)}.parquet")
                with Sink(shards[-1], names, compression) as sink:
                    while batch is not None:
                        facts.add(batch)
                        sink.write(batch)
                        batch = next(waiting, None) if sink.written_bytes < SHARD_BYTES else None
                row_count += sink.row_count
            for number, shard in enumerate(shards):
                shard.rename(partial / "data" / f"{split}-{number:05}-of-{len(shards):05}.parquet")
            sync_to_disk(partial / "data")
            (partial / "README.md").write_text(card(split, title or folder.name, row_count, names, facts))
            sync_to_disk(partial / "README.md")
            sync_to_disk(partial)
            partial.replace(folder)
            sync_to_disk(folder.parent)
    except OSError as error:
        raise Error(f"{folder}: cannot be written: {error.strerror or error}") from None
    return row_count


def card(split: str, title: str, row_count: int, names: list[str], facts: CardFacts) -> str:
    """Returns the data set card."""
    columns = "\n".join(f"| `{field.name}` | {field.type} |" for field in schema_of(names))
    return CARD.format(
        split=split,
        title=title,
        row_count=row_count,
        schema=SCHEMA,
        runs=facts.text("run"),
        devices=facts.text("device_model"),
        methods=facts.text("method"),
        columns=columns,
    )
