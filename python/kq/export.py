"""The command `python -m kq export`, which writes a run as a Parquet file or as a Hugging Face folder.

The rows come from JSON Lines that kq-dump wrote, or from a broker:

    kq-dump mine --format jsonl | python -m kq export --format parquet -o mine.parquet
    python -m kq export --run mine --format hf -o mine-dataset

A new format is a module like kq/parquet.py and an entry in FORMATS.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from kq.client import Client
from kq.errors import BadInput, NotFound, exit_code_of
from kq.huggingface import to_huggingface
from kq.parquet import Sink, batched, need_pyarrow, python_types, table_of_lines, to_parquet
from kq.tables.columns import SCHEMA, Row

LINE_BYTES_MAX = 8 << 20
CHUNK_BYTES = 4 << 20
INT64_MAX = (1 << 63) - 1

# The endings of files that hold something else than Parquet, so that a file of that name could not be read.
OTHER_ENDINGS = frozenset(
    (".csv", ".tsv", ".json", ".jsonl", ".jsonlines", ".ndjson", ".gz", ".zst", ".xz", ".bz2", ".zip", ".xlsx", ".xls")
)

Rows = Iterable[Row | dict[str, Any]]
FORMATS: dict[str, Callable[[Rows, str], int]] = {
    "parquet": lambda rows, out: to_parquet(rows, out),
    "hf": lambda rows, out: to_huggingface(rows, out),
}


def lines_to_parquet(lines: IO[bytes], name: str, out: str | Path) -> int:
    """Does what to_parquet(rows_of_lines()) does, twice as fast, and returns the number of rows.

    Arrow reads the lines chunk by chunk. A chunk that Arrow does not accept goes through rows_of_lines(), which accepts
    whole numbers that are written as text and says what is wrong in which line.
    """
    number, first = 0, lines.readline(LINE_BYTES_MAX + 1)
    while first and not first.strip():
        number, first = number + 1, lines.readline(LINE_BYTES_MAX + 1)
    if not first:
        return 0
    columns = next(rows_of_lines(BytesIO(first), name, number))
    with Sink(out, list(columns)) as sink:
        chunk = first
        while chunk := chunk + lines.read(CHUNK_BYTES):
            if not chunk.endswith(b"\n"):
                chunk += lines.readline(LINE_BYTES_MAX + 1)
            table = table_of_lines(chunk, sink.schema)
            if table is not None:
                sink.write_table(table)
            else:
                for batch in batched(rows_of_lines(BytesIO(chunk), name, number, columns)):
                    sink.write(batch)
            number += chunk.count(b"\n")
            chunk = b""
    return sink.row_count


def rows_of_lines(
    lines: IO[bytes], name: str, number: int = 0, first: dict[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Yields rows from JSON Lines of kq-dump with any choice of columns; raises BadInput with the number of a bad line.

    `number` is how many lines come before these. Every row must have the columns of `first`, which is by default the
    first row.
    """
    types = python_types()
    while line := lines.readline(LINE_BYTES_MAX + 1):
        number += 1
        where = f"{name}:{number}"
        if len(line) > LINE_BYTES_MAX:
            raise BadInput(f"{where}: a line of more than {LINE_BYTES_MAX} bytes")
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise BadInput(f"{where}: is not a JSON object; lines of kq-dump --format jsonl are needed")
        if row.get("schema", SCHEMA) != SCHEMA:
            raise BadInput(f"{where}: its schema is {str(row['schema'])[:64]!r}; this version reads {SCHEMA}")
        first = first or row
        if unknown := row.keys() - first.keys():
            raise BadInput(f"{where}: has a column '{min(unknown)[:64]}' that the first row does not have")
        try:
            yield {
                # Most values already have the right type; calling a function for each would take most of the time.
                column: value
                if value is None or type(value) is types.get(column)
                else _value(types.get(column, str), value)
                for column, value in row.items()
            }
        except (TypeError, ValueError, OverflowError) as error:
            raise BadInput(f"{where}: {error}") from None


def rows_of_runs(client: Client, runs: Iterable[str]) -> Iterator[Row]:
    """Yields the rows of runs of a broker, one run after the other; raises NotFound at a run without rows."""
    for run in runs:
        yield from map(Row.of, client.each_row(run))


def write_lines(form: str, lines: IO[bytes], name: str, out: str) -> int:
    """Writes JSON Lines of kq-dump in the given format and returns the number of rows."""
    if form == "parquet":
        return lines_to_parquet(lines, name, out)
    return FORMATS[form](rows_of_lines(lines, name), out)


def _value(kind: type, value: Any) -> Any:
    """Returns a JSON value as the column's type. In JSON, times and whole numbers above 2^53 are texts."""
    if type(value) is kind:
        return value
    if kind is datetime and isinstance(value, str):
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is int and isinstance(value, str):
        if (number := int(value)) > INT64_MAX:
            raise ValueError(f"{value} is larger than a column of whole numbers holds")
        return number
    if kind is str:  # a column that this version does not know
        return json.dumps(value)
    raise ValueError(f"{json.dumps(value)[:64]} is not of type {kind.__name__}")


def main(arguments: list[str]) -> int:
    """Exports runs as the arguments say and returns 0; raises NotFound if there are no rows."""
    parser = argparse.ArgumentParser(prog="python -m kq export", description="Writes a run for other tools to read.")
    parser.add_argument("--run", action="append", help="export this run of the broker; may be repeated")
    parser.add_argument(
        "--input", help="export this file of kq-dump --format jsonl instead; - is standard input (default: -)"
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="parquet", help="parquet writes a file, hf a folder (default: parquet)"
    )
    parser.add_argument("-o", "--out", required=True, help="the file or folder; it appears complete or not at all")
    parser.add_argument("--broker", help="the broker's URL (default: KQ_BROKER, that of kq up, tcp://127.0.0.1:5570)")
    parser.add_argument("--key", help="the key file, if the broker needs one (default: KQ_KEY)")
    given = parser.parse_args(arguments)
    if given.run is not None and given.input is not None:
        parser.error("--run and --input exclude each other")
    if given.out == "-":
        parser.error("-o must name a file or a folder, because no format can be written to standard output")
    if given.format == "parquet" and Path(given.out).suffix in OTHER_ENDINGS:
        raise BadInput(
            f"{given.out} would be a file of Parquet: name FILE.parquet; kq-dump writes CSV and JSON Lines, "
            "kq-dump RUN -o FILE.csv"
        )
    need_pyarrow()
    write = FORMATS[given.format]
    if given.run is not None:
        with Client(given.broker, given.key) as client:
            row_count = write(rows_of_runs(client, dict.fromkeys(given.run)), given.out)
    elif given.input in (None, "-"):
        row_count = write_lines(given.format, sys.stdin.buffer, "standard input", given.out)
    else:
        try:
            lines = Path(given.input).open("rb")
        except OSError as error:
            raise BadInput(f"{given.input}: {error.strerror}") from None
        with lines:
            row_count = write_lines(given.format, lines, given.input, given.out)
    if row_count == 0:
        raise NotFound(f"{given.input or 'standard input'} holds no row")
    print(f"kq export: {row_count} row{'' if row_count == 1 else 's'} in {given.out}", file=sys.stderr)
    return 0


def run(arguments: list[str] | None = None) -> int:
    """Runs main() and returns the exit code."""
    return exit_code_of("kq export", lambda: main(sys.argv[1:] if arguments is None else arguments))
