"""Measures how far the speedup of each problem's own reference is from 1 when its Model is submitted as a kernel.

    scripts/bench speedup --device cpu|cuda [--problems DIR] [--copies N] [--timed N] [--json FILE]

Both sides run the same code, so every difference from 1 is an error of the submission's time, of the reference's time,
or of both. Problems are files that define a Model and use the name Model for nothing else (default: those of
examples/sweep). Copies of different problems take turns, so that the copies of one problem are measured at different
moments. The benchmark runs in the tree that scripts/bundle makes, or in a checkout that has been built. Jobs run under
$KQ_PYTHON (default: python3). Exit code 1: a job did not pass. Exit code 3: this machine has no such device.
"""

import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
LIMIT_S = 1200
FAR = 0.05  # a value is far if it differs from the median of its problem by more than this share


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench speedup", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument(
        "--problems",
        metavar="DIR",
        type=Path,
        default=ROOT / "examples/sweep/problems",
        help="a folder of problem files",
    )
    parser.add_argument("--copies", metavar="N", type=int, default=8, help="copies of each problem (default: 8)")
    parser.add_argument("--timed", metavar="N", type=int, default=20, help="timed trials of each copy (default: 20)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure to FILE, in microseconds")
    options = parser.parse_args()
    if not sorted(options.problems.glob("*.py")):
        parser.error(f"--problems {options.problems} has no .py file")
    if options.copies < 1 or options.timed < 1:
        parser.error("--copies and --timed are 1 or more")
    return options


def write_jobs(folder: Path, options: argparse.Namespace) -> Path:
    lines = []
    for copy in range(options.copies):
        for problem in sorted(options.problems.glob("*.py")):
            kernel = folder / f"{problem.stem}_{copy}.py"
            kernel.write_text(re.sub(r"\bModel\b", "ModelNew", problem.read_text()) + f"\n# {copy}\n")
            (folder / problem.name).write_bytes(problem.read_bytes())
            lines.append(
                {
                    "label": kernel.stem,
                    "path": kernel.name,
                    "problem": problem.name,
                    "backend": "torch",
                    "device": options.device,
                    "params": {"timed": options.timed},
                }
            )
    jobs = folder / "jobs.jsonl"
    jobs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return jobs


def judged(programs: Path, options: argparse.Namespace) -> list[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="kq-speedup.") as place:
        folder = Path(place)
        command = [
            programs / "kq",
            "sweep",
            write_jobs(folder, options),
            "--run",
            "speedup",
            "--device",
            options.device,
            "--state",
            folder / "state",
            "--csv",
            folder / "rows.csv",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if not (folder / "rows.csv").exists():
            print(f"bench speedup: kq sweep: {done.stderr.strip()}", file=sys.stderr)
            sys.exit(3)
        with (folder / "rows.csv").open(newline="") as source:
            return list(csv.DictReader(source))


def figures_of(rows: list[dict[str, str]]) -> dict[str, Any]:
    """Returns times, reference times and speedups of the passed rows of one problem."""
    times = [float(row["median_us"]) for row in rows]
    references = [float(row["reference_us"]) for row in rows]
    return {
        "times_us": times,
        "references_us": references,
        "speedups": [r / t for r, t in zip(references, times, strict=True)],
    }


def far(values: list[float]) -> int:
    middle = statistics.median(values)
    return sum(abs(value / middle - 1) > FAR for value in values)


def extremes(values: list[float]) -> str:
    middle = statistics.median(values)
    return f"{middle:.4g} | {min(values) / middle - 1:+.0%} to {max(values) / middle - 1:+.0%}"


def main() -> int:
    options = arguments()
    programs = next((p for p in (ROOT / "bin", ROOT / "build/release/bin") if (p / "kq").exists()), None)
    if programs is None:
        print("bench speedup: no kq here; run scripts/build first", file=sys.stderr)
        return 2
    os.environ.setdefault("KQ_PYTHON", "python3")
    rows = judged(programs, options)
    missed = [row for row in rows if row["verdict"] != "passed"]
    for row in missed:
        print(f"bench speedup: {row['label']}: {row['verdict']} {row['reason']}: {row['message']}", file=sys.stderr)
    found = {}
    print(
        "| problem | copies | time us | least, most | reference us | least, most | speedup | least, most |\n|"
        + "---|" * 8
    )
    for problem in sorted({row["problem"] for row in rows}):
        passed = [row for row in rows if row["problem"] == problem and row not in missed]
        if not passed:
            continue
        one = found[problem] = figures_of(passed)
        print(
            f"| {problem} | {len(passed)} | {extremes(one['times_us'])} | {extremes(one['references_us'])} | "
            f"{extremes(one['speedups'])} |"
        )
    total = {side: sum(far(one[side]) for one in found.values()) for side in ("times_us", "references_us", "speedups")}
    print(
        f"\n{len(rows) - len(missed)} of {len(rows)} passed; more than {FAR:.0%} from the median of their problem: "
        f"{total['times_us']} times, {total['references_us']} references, {total['speedups']} speedups"
    )
    if options.json:
        options.json.write_text(
            json.dumps({"device": options.device, "copies": options.copies, "far": total, "problems": found}, indent=1)
            + "\n"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
