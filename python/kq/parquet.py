"""Writes rows to a Parquet file, in memory that does not grow with the number of rows.

The module needs pyarrow, which the extra kq[parquet] installs.
"""

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

from kq.errors import BadInput, Error
from kq.tables.columns import SCHEMA, Row
from kq.tables.partial_output import partial_file, partial_path

try:
    import pyarrow as pa
    import pyarrow.json as json_reader
    import pyarrow.parquet as pq
except ImportError:
    pa = pq = json_reader = None

BATCH_ROWS = 1_024  # rows that are converted to columns together; their Python objects take most of the memory
# A row group ends when it has at least this many rows or bytes in memory.
GROUP_ROWS = 64 * BATCH_ROWS
GROUP_BYTES = 64 << 20
COMPRESSION = "zstd"

# Columns of rows below the job, such as samples and kernels; tools/table/levels.cc defines them.
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
    """A Parquet file that is written as a whole or not at all.

    The rows go to a partial file beside the target. The partial file is renamed to the target when the `with` block
    ends without an exception, and removed otherwise.
    """

    def __init__(self, path: str | Path, names: list[str], compression: str = COMPRESSION) -> None:
        need_pyarrow()
        self.path = Path(path)
        self.row_count = 0
        self.schema = schema_of(names)
        self._compression = compression
        self._partial = partial_path(self.path)
        self._partial_scope = ExitStack()
        self._group: list[Any] = []

    def __enter__(self) -> Sink:
        if self.path.is_dir():
            raise BadInput(f"{self.path} is a folder; the name of a file is needed")
        try:
            self._partial_scope.enter_context(partial_file(self.path))
            self._writer = pq.ParquetWriter(self._partial, self.schema, compression=self._compression)
        except OSError as error:
            self._partial_scope.close()
            raise BadInput(f"{self.path}: cannot be written: {error.strerror or error}") from None
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error_type is None:
                self._end_group()
            self._writer.close()
            if error_type is None:
                sync_to_disk(self._partial)
                self._partial.replace(self.path)
                sync_to_disk(self.path.parent)
        except OSError as failed:
            raise Error(f"{self.path}: cannot be written: {failed.strerror or failed}") from None
        finally:
            self._partial_scope.close()

    @property
    def written_bytes(self) -> int:
        """The bytes written so far, without the row group that is still in memory."""
        return self._partial.stat().st_size

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Appends rows, which are dicts by column name. A missing column is null."""
        try:
            self._group.append(pa.RecordBatch.from_pylist(rows, self.schema))
        except (TypeError, ValueError, OverflowError) as error:  # Arrow's errors are subclasses of these
            first, last = self.row_count + 1, self.row_count + len(rows)
            raise BadInput(f"one of the rows {first} to {last}: {error}") from None
        self.row_count += len(rows)
        self._end_full_group()

    def write_table(self, table: Any) -> None:
        """Appends the rows of an Arrow table that has the schema of this file."""
        self._group += table.to_batches()
        self.row_count += table.num_rows
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
    """Writes Rows, or dicts with their columns, to a file and returns their number. Writes no file if it is 0."""
    batches = batched(rows)
    first = next(batches, None)
    if first is None:
        return 0
    with Sink(path, list(first[0]), compression) as sink:
        for batch in chain([first], batches):
            sink.write(batch)
    return sink.row_count


def table_of_lines(lines: bytes, schema: Any) -> Any:
    """Returns JSON Lines of kq-dump as an Arrow table.

    Returns None if Arrow cannot read them with exactly this schema, or if the column `schema` of a row is not SCHEMA.
    """
    exact = json_reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    try:
        table = json_reader.read_json(BytesIO(lines), parse_options=exact)
        table.validate(full=True)  # checks that texts are UTF-8
    except ValueError:  # Arrow's errors are subclasses of ValueError
        return None
    if "schema" in schema.names and table["schema"].unique().to_pylist() != [SCHEMA]:
        return None
    return table


def batched(rows: Iterable[Row | dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yields the rows as dicts, BATCH_ROWS at a time."""
    rest = iter(rows)
    while batch := list(islice(rest, BATCH_ROWS)):
        yield [dict(vars(row)) if isinstance(row, Row) else row for row in batch]


def python_types() -> dict[str, type]:
    """Returns the Python type of each known column."""
    hints = typing.get_type_hints(Row)
    return {
        name: next(one for one in typing.get_args(hint) if one is not type(None)) for name, hint in hints.items()
    } | BELOW_THE_JOB


def schema_of(names: list[str]) -> Any:
    """Returns the Arrow schema of these columns in this order. A column that this version does not know is text."""
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
    """Raises BadInput if pyarrow is not installed."""
    if pa is None:
        raise BadInput("Parquet needs pyarrow, which is not installed: pip install pyarrow")


def sync_to_disk(path: Path) -> None:
    """Writes a file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
