"""Measures how fast kq-dump writes a run, and checks that pandas and Python's csv module read back equal values."""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("KQ_BIN") or ROOT / "build/release/bin")
TARGET_ROWS_PER_S = 50_000


def timed(*words: str | Path) -> tuple[float, float]:
    """Runs a program; returns its seconds and its largest memory in MB."""
    start = time.monotonic()
    process = subprocess.Popen([str(word) for word in words])
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"bench dump: {words[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - start, usage.ru_maxrss / 1024


def value_of(kind: str, text: str | None) -> object:
    """Returns the value that JSON Lines has for a cell of CSV."""
    if text is None or text == "":
        return None
    return {"number": float, "integer": int, "boolean": lambda word: word == "true"}.get(kind, str)(text)


def kinds(schema: dict) -> dict[str, str]:
    found = {}
    for name, entry in schema["properties"].items():
        types = entry.get("type", ["string"])
        found[name] = next((kind for kind in ("number", "integer", "boolean") if kind in types), "text")
    return found


def compare(csv_path: Path, jsonl_path: Path, schema: dict) -> int:
    """Compares every value of every row between CSV and JSON Lines; returns the number of rows."""
    kind = kinds(schema)
    row_count = 0
    with csv_path.open(newline="", encoding="utf-8") as table, jsonl_path.open(encoding="utf-8") as lines:
        for row, line in zip(csv.DictReader(table), lines, strict=True):
            wanted = json.loads(line)
            got = {name: value_of(kind[name], text) for name, text in row.items()}
            if got != wanted:
                differing = [name for name in wanted if got.get(name) != wanted[name]]
                sys.exit(f"bench dump: row {row_count + 1} differs in {', '.join(differing)}")
            row_count += 1
    return row_count


def compare_with_pandas(csv_path: Path, jsonl_path: Path, schema: dict) -> str:
    try:
        import pandas
    except ImportError:
        return "not installed"
    kind = kinds(schema)
    # An empty field is the only missing value; the word nan is a text.
    options: dict = {"keep_default_na": False, "na_values": [""]}
    options["dtype"] = {name: "string" for name, its in kind.items() if its == "text"}
    if int(pandas.__version__.split(".")[0]) < 3:  # pandas 3 always reads exactly
        options["float_precision"] = "round_trip"
    with jsonl_path.open(encoding="utf-8") as lines:
        for chunk in pandas.read_csv(csv_path, **options, chunksize=50_000):
            for row in chunk.itertuples(index=False):
                wanted = json.loads(next(lines))
                for name, got in zip(chunk.columns, row):
                    want = wanted[name]
                    if (want is None) != bool(pandas.isna(got)) or (want is not None and got != want):
                        sys.exit(f"bench dump: pandas reads {name} of {wanted['label']} as {got!r} instead of {want!r}")
    return "equal"


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench dump", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE too")
    parser.add_argument(
        "--no-compare", action="store_true", help="only measure, because reading the files back takes minutes"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kq-bench dump.") as folder:
        store, out = Path(folder) / "store", Path(folder)
        subprocess.run([BIN / "dump_rows", store, str(options.rows)], check=True)
        figures = []
        for name, words in (
            ("csv", []),
            ("jsonl", ["--format", "jsonl"]),
            ("csv, 4 columns", ["--columns", "label,verdict,median_us,speedup"]),
        ):
            path = out / f"{len(figures)}.{words[1] if words[:1] == ['--format'] else 'csv'}"
            seconds, memory_mb = timed(BIN / "kq-dump", "--store", store, "--run", "bench", "-o", path, *words)
            figures.append(
                {
                    "what": name,
                    "rows_per_s": options.rows / seconds,
                    "mb": path.stat().st_size / 1e6,
                    "memory_mb": memory_mb,
                }
            )
            print(
                f"{name:16} {options.rows / seconds:10,.0f} rows/s {path.stat().st_size / 1e6:8,.0f} MB, "
                f"{memory_mb:.0f} MB of memory"
            )
        if not options.no_compare:
            schema = json.loads(
                subprocess.run(
                    [BIN / "kq-dump", "--schema", "--format", "jsonl"], check=True, capture_output=True
                ).stdout
            )
            row_count = compare(out / "0.csv", out / "1.jsonl", schema)
            pandas = compare_with_pandas(out / "0.csv", out / "1.jsonl", schema)
            figures.append({"what": "reads back", "rows": row_count, "pandas": pandas})
            print(f"{row_count:,} rows of csv read back equal to jsonl in Python's csv module; pandas: {pandas}")
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    slow = [figure["what"] for figure in figures if figure.get("rows_per_s", TARGET_ROWS_PER_S) < TARGET_ROWS_PER_S]
    if slow:
        sys.exit(f"bench dump: less than {TARGET_ROWS_PER_S:,} rows/s: {'; '.join(slow)}")


if __name__ == "__main__":
    main()
