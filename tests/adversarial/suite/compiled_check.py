"""Runs the rows that need a GPU and a CUDA compiler through the whole evaluator and checks their verdicts.

    KQ_BIN=build/release/bin python tests/adversarial/suite/compiled_check.py     # scripts/gpu-check --rows runs it

These are the rows without `run:` in their header; runtime_test.py runs the others without the guard. Every honest row
must pass, and every hostile row must end as its header expects. The check needs a CUDA compiler and takes one to three
minutes.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from rows import Row, problem_of, rows

LIMIT_S = 420
TRIALS = {"correctness": 3, "warmup": 1, "timed": 5}
BIN = Path(os.environ.get("KQ_BIN") or Path(__file__).resolve().parents[3] / "build/release/bin")


def judged(chosen: list[Row], folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "jobs.jsonl").open("w") as jobs:
        for row in chosen:
            job = {
                "id": row.path.stem,
                "path": str(row.path),
                "problem": str(problem_of(row)),
                "backend": backend_of(row),
                "device": "cuda",
                "params": TRIALS,
            }
            jobs.write(json.dumps(job) + "\n")
    command = [
        BIN / "kq",
        "sweep",
        folder / "jobs.jsonl",
        "--run",
        "rows",
        "--device",
        "cuda",
        "--state",
        folder / "state",
        "--csv",
        folder / "rows.csv",
    ]
    ended = subprocess.run(list(map(str, command)), timeout=LIMIT_S, check=False, capture_output=True, text=True)
    if not (folder / "rows.csv").exists():
        sys.exit(f"compiled_check: kq sweep ended with {ended.returncode}: {ended.stderr}")
    with (folder / "rows.csv").open(newline="") as source:
        return {one["label"]: one for one in csv.DictReader(source)}


def backend_of(row: Row) -> str:
    return "torch_cuda" if row.backend == "torch" and "cpp_extension" in row.path.read_text() else row.backend


def main() -> int:
    chosen = [row for row in rows() if not row.run and row.gpu != "no"]
    with tempfile.TemporaryDirectory(prefix="kq-rows.") as folder:
        found = judged(chosen, Path(folder))
    endings: Counter[tuple[str, str]] = Counter()
    wrong = []
    for row in chosen:
        one = found.get(row.path.stem, {"verdict": "none", "reason": "", "message": ""})
        ending = f"{one['verdict']} {one['reason']}".strip()
        endings[row.kind, ending] += 1
        print(f"{row.path.name:44} {ending:24} {one.get('build_s', ''):>8} {one.get('rule', '')}")
        if ending not in row.expect.replace("harmless", "passed").split(" | "):
            wrong.append(f"{row.path.name}: {ending}, must be {row.expect}: {one['message']}")
    for (kind, ending), count in sorted(endings.items()):
        print(f"{kind:8} {ending:24} {count}")
    print("\n".join(wrong) or f"all {len(chosen)} as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
