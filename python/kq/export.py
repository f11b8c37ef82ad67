"""A run as files that other tools read: JSON Lines of kq-dump, or a run of a broker -> Parquet, or a Hugging Face folder.

    kq-dump --run mine --format jsonl | python -m kq export --format parquet -o mine.parquet
    python -m kq export --run mine --format hf -o mine-dataset

A new format is a file like kq/parquet.py and a row in FORMATS.
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
from kq.errors import BadInput, Error
from kq.huggingface import to_huggingface
from kq.parquet import Sink, batched, need_pyarrow, python_types, table_of_lines, to_parquet
from kq.tables.columns import SCHEMA, Row

LINE_BYTES_MAX = 8 << 20
CHUNK_BYTES = 4 << 20
INT64_MAX = (1 << 63) - 1

Rows = Iterable[Row | dict[str, Any]]
FORMATS: dict[str, Callable[[Rows, str], int]] = {
    "parquet": lambda rows, out: to_parquet(rows, out),
    "hf": lambda rows, out: to_huggingface(rows, out),
}


def lines_to_parquet(lines: IO[bytes], name: str, out: str | Path) -> int:
    """to_parquet(rows_of_lines()), twice as fast: Arrow reads the lines, as long as they are as they should be.

    What it does not take goes the other way, which knows whole numbers that are text, and says what is wrong in which line.
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
    """Rows from JSON Lines of kq-dump, whatever columns were chosen; BadInput says which line is none.

    There are `number` lines before these; the columns are those of `first`, else of the first of them.
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
            raise BadInput(f"{where}: is no JSON object; lines of kq-dump --format jsonl are needed")
        if row.get("schema", SCHEMA) != SCHEMA:
            raise BadInput(f"{where}: its schema is {str(row['schema'])[:64]!r}; this version reads {SCHEMA}")
        first = first or row
        if unknown := row.keys() - first.keys():
            raise BadInput(f"{where}: has a column '{min(unknown)[:64]}' that the first row has not")
        try:
            yield {
                # Most values are as they should be, and a call for each of them would take most of the time.
                column: value
                if value is None or type(value) is types.get(column)
                else _value(types.get(column, str), value)
                for column, value in row.items()
            }
        except (TypeError, ValueError, OverflowError) as error:
            raise BadInput(f"{where}: {error}") from None


def rows_of_run(client: Client, run: str) -> Iterator[Row]:
    return (Row.of(row) for row in client.each_row(run))


def write_lines(form: str, lines: IO[bytes], name: str, out: str) -> int:
    if form == "parquet":
        return lines_to_parquet(lines, name, out)
    return FORMATS[form](rows_of_lines(lines, name), out)


def _value(kind: type, value: Any) -> Any:
    """As the column has it. A whole number above 2^53 is text in JSON, a time always."""
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
    if kind is str:  # of a column that this version does not know
        return json.dumps(value)
    raise ValueError(f"{json.dumps(value)[:64]} is no {kind.__name__}")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m kq export", description="Writes a run for other tools to read.")
    parser.add_argument("--run", help="the run, asked of the broker")
    parser.add_argument(
        "--input", help="instead: a file that kq-dump --format jsonl wrote, - for standard input (default: -)"
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="parquet", help="parquet, a file; hf, a folder (default: parquet)"
    )
    parser.add_argument("-o", "--out", required=True, help="the file or folder; it appears whole or not at all")
    parser.add_argument("--broker", help="default: KQ_BROKER, else tcp://127.0.0.1:5570")
    parser.add_argument("--key", help="your key, where the broker wants one; default: KQ_KEY")
    given = parser.parse_args(arguments)
    if given.run is not None and given.input is not None:
        parser.error("either --run or --input is needed, not both")
    if given.out == "-":
        parser.error("-o names a file or a folder: neither of these formats goes to standard output")
    need_pyarrow()
    write = FORMATS[given.format]
    if given.run is not None:
        with Client(given.broker, given.key) as client:
            row_count = write(rows_of_run(client, given.run), given.out)
        nothing = f"there is no run '{given.run}'"
    else:
        nothing = f"{given.input or 'standard input'} holds no row"
        if given.input in (None, "-"):
            row_count = write_lines(given.format, sys.stdin.buffer, "standard input", given.out)
        else:
            try:
                lines = Path(given.input).open("rb")
            except OSError as error:
                raise BadInput(f"{given.input}: {error.strerror}") from None
            with lines:
                row_count = write_lines(given.format, lines, given.input, given.out)
    if row_count == 0:
        print(f"kq export: {nothing}", file=sys.stderr)
        return 5
    print(f"kq export: {row_count} row{'' if row_count == 1 else 's'} in {given.out}", file=sys.stderr)
    return 0


def run(arguments: list[str]) -> int:
    """main(), with the exit codes of kq's programs."""
    try:
        return main(arguments)
    except BadInput as error:
        print(f"kq export: {error}", file=sys.stderr)
        return 2
    except Error as error:
        print(f"kq export: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130
