"""Rows -> a Parquet file, of any length in the same memory. pyarrow is an extra, kq[parquet]."""

from __future__ import annotations

import os
import typing
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import datetime
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import Any

from kq.columns import SCHEMA, Row
from kq.errors import BadInput, Error
from kq.partial import partial_file, partial_of

try:
    import pyarrow as pa
    import pyarrow.json as json_reader
    import pyarrow.parquet as pq
except ImportError:
    pa = pq = json_reader = None

BATCH_ROWS = 1_024  # turned into columns at once: Python's objects take most room
GROUP_ROWS = 64 * BATCH_ROWS
GROUP_BYTES = 64 << 20  # a row group ends with whichever comes first
COMPRESSION = "zstd"

# Columns that only exist below the job: tools/table/levels.cc.
BELOW_THE_JOB = {
    "case_n": int,
    "case_id": str,
    "side": str,
    "sample_n": int,
    "sample_us": float,
    "kernel_n": int,
    "kernel": str,
    "metric": str,
    "metric_value": float,
}


class Sink:
    """A file that appears whole or not at all. Use it in a `with`: it is there when that ends without an exception."""

    def __init__(self, path: str | Path, names: list[str], compression: str = COMPRESSION) -> None:
        need_pyarrow()
        self.path = Path(path)
        self.rows_n = 0
        self.schema = schema_of(names)
        self._compression = compression
        self._partial = partial_of(self.path)
        self._held = ExitStack()
        self._group: list[Any] = []

    def __enter__(self) -> Sink:
        if self.path.is_dir():
            raise BadInput(f"{self.path} is a folder, the name of a file is needed")
        try:
            self._held.enter_context(partial_file(self.path))
            self._writer = pq.ParquetWriter(self._partial, self.schema, compression=self._compression)
        except OSError as error:
            self._held.close()
            raise BadInput(f"{self.path}: cannot be written: {error.strerror or error}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._end_group()
            self._writer.close()
            if kind is None:
                sync(self._partial)
                self._partial.replace(self.path)
                sync(self.path.parent)
        except OSError as failed:
            raise Error(f"{self.path}: cannot be written: {failed.strerror or failed}") from None
        finally:
            self._held.close()

    @property
    def bytes_n(self) -> int:
        """What is written so far, without the group that waits."""
        return self._partial.stat().st_size

    def write(self, rows: list[dict[str, Any]]) -> None:
        """A batch of rows, by column names; what a row lacks is null."""
        try:
            self._group.append(pa.RecordBatch.from_pylist(rows, self.schema))
        except (TypeError, ValueError, OverflowError) as error:  # Arrow's own are among them
            raise BadInput(f"among rows {self.rows_n + 1} to {self.rows_n + len(rows)}: {error}") from None
        self.rows_n += len(rows)
        self._end_full_group()

    def write_table(self, table: Any) -> None:
        """The same for a table of this schema."""
        self._group += table.to_batches()
        self.rows_n += table.num_rows
        self._end_full_group()

    def _end_full_group(self) -> None:
        if (
            sum(batch.num_rows for batch in self._group) >= GROUP_ROWS
            or sum(batch.nbytes for batch in self._group) >= GROUP_BYTES
        ):
            self._end_group()

    def _end_group(self) -> None:
        if self._group:
            self._writer.write_table(pa.Table.from_batches(self._group), row_group_size=GROUP_ROWS)
            self._group = []


def to_parquet(rows: Iterable[Row | dict[str, Any]], path: str | Path, compression: str = COMPRESSION) -> int:
    """Writes Rows, or dicts with their columns, and returns how many there were; with none there is no file."""
    batches = batched(rows)
    first = next(batches, None)
    if first is None:
        return 0
    with Sink(path, list(first[0]), compression) as sink:
        for batch in chain([first], batches):
            sink.write(batch)
    return sink.rows_n


def table_of_lines(lines: bytes, schema: Any) -> Any:
    """JSON Lines of kq-dump with these columns as a table; None where they are not quite that."""
    exact = json_reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    try:
        table = json_reader.read_json(BytesIO(lines), parse_options=exact)
        table.validate(full=True)  # texts are UTF-8
    except ValueError:  # Arrow's own are of that kind
        return None
    if "schema" in schema.names and table["schema"].unique().to_pylist() != [SCHEMA]:
        return None
    return table


def batched(rows: Iterable[Row | dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    rest = iter(rows)
    while batch := list(islice(rest, BATCH_ROWS)):
        yield [dict(vars(row)) if isinstance(row, Row) else row for row in batch]


def python_types() -> dict[str, type]:
    """What a value of each known column is."""
    hints = typing.get_type_hints(Row)
    return {
        name: next(one for one in typing.get_args(hint) if one is not type(None)) for name, hint in hints.items()
    } | (BELOW_THE_JOB)


def schema_of(names: list[str]) -> Any:
    """Of columns in this order. One that this version does not know is text."""
    known = python_types()
    arrow = {
        str: pa.large_string(),
        int: pa.int64(),
        float: pa.float64(),
        bool: pa.bool_(),
        datetime: pa.timestamp("us", tz="UTC"),
    }
    return pa.schema([(name, arrow[known.get(name, str)]) for name in names])


def need_pyarrow() -> None:
    if pa is None:
        raise BadInput("Parquet needs pyarrow, which is not here: pip install pyarrow")


def sync(path: Path) -> None:
    """To the disk itself, a folder's entries too."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
