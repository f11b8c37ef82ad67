"""Measures how far the speedup of each problem's own reference is from 1 when its Model is submitted as a kernel.

    scripts/bench speedup --device cpu|cuda [--problems DIR] [--small] [--copies N] [--timed N] [--json FILE]

Both sides run the same code, so every difference from 1 is an error of the submission's time, of the reference's time,
or of both. Problems are files that define a Model and use the name Model for nothing else (default: those of
examples/sweep; with --small also operators on a few kilobytes, whose calls take some microseconds). A speedup is
outside its noise if it differs from 1 by more than the column speedup_noise. Copies are ranked if the leaderboard of
the run does not give them the first place together. Copies of different problems take turns, so that the copies of one
problem are measured at different moments. The benchmark runs in the tree that scripts/bundle makes, or in a checkout
that has been built. Jobs run under $KQ_PYTHON (default: python3). Exit code 1: a job did not pass. Exit code 3: this
machine has no such device.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/bench"))

from sweep_rows import LIMIT_S, programs_for, rows_of_sweep  # noqa: E402

# Operators whose calls are short. {} is the forward pass.
SMALL = {
    "small_add": "a + b",
    "small_matmul": "a @ b",
    "small_relu": "torch.relu(a) * b",
    "small_softmax": "torch.softmax(a, -1) + b",
}
SMALL_PROBLEM = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return {}


def get_inputs():
    return [torch.randn(48, 48), torch.randn(48, 48)]


def get_init_inputs():
    return []
"""
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
    parser.add_argument("--small", action="store_true", help="add operators whose calls take some microseconds")
    parser.add_argument("--copies", metavar="N", type=int, default=8, help="copies of each problem (default: 8)")
    parser.add_argument("--timed", metavar="N", type=int, default=20, help="timed trials of each copy (default: 20)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure to FILE, in microseconds")
    options = parser.parse_args()
    if not sorted(options.problems.glob("*.py")):
        parser.error(f"--problems {options.problems} has no .py file")
    if options.copies < 1 or options.timed < 1:
        parser.error("--copies and --timed are 1 or more")
    return options


def problems_of(options: argparse.Namespace) -> dict[str, str]:
    """Returns the text of each problem by its name."""
    texts = {path.stem: path.read_text() for path in sorted(options.problems.glob("*.py"))}
    return texts | ({name: SMALL_PROBLEM.format(call) for name, call in SMALL.items()} if options.small else {})


def write_jobs(folder: Path, options: argparse.Namespace) -> Path:
    lines = []
    problems = problems_of(options)
    for name, text in problems.items():
        (folder / f"{name}.py").write_text(text)
    for copy in range(options.copies):
        for name, text in problems.items():
            kernel = folder / f"{name}_{copy}.py"
            kernel.write_text(re.sub(r"\bModel\b", "ModelNew", text) + f"\n# {copy}\n")
            lines.append(
                {
                    "label": kernel.stem,
                    "path": kernel.name,
                    "problem": f"{name}.py",
                    "backend": "torch",
                    "device": options.device,
                    "params": {"timed": options.timed},
                }
            )
    jobs = folder / "jobs.jsonl"
    jobs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return jobs


def judged(programs: Path, options: argparse.Namespace) -> tuple[list[dict[str, str]], dict[str, int]]:
    """Returns the rows of all jobs, and for each problem how many copies share the first place."""
    with tempfile.TemporaryDirectory(prefix="kq-speedup.") as place:
        folder = Path(place)
        jobs = write_jobs(folder, options)
        rows, _ = rows_of_sweep("speedup", programs, jobs, "speedup", options.device, folder / "state")
        board = subprocess.run(
            [programs / "kq", "leaderboard", "--run", "speedup", "--format", "json", "--store", folder / "state/store"],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
        )
        return rows, {row["problem"]: 1 + row["tie_count"] for row in json.loads(board.stdout)["rows"]}


def figures_of(rows: list[dict[str, str]]) -> dict[str, Any]:
    """Returns times, reference times and speedups of the passed rows of one problem."""
    times = [float(row["median_us"]) for row in rows]
    references = [float(row["reference_us"]) for row in rows]
    return {
        "times_us": times,
        "references_us": references,
        "speedups": [r / t for r, t in zip(references, times, strict=True)],
        "noises": [float(row["speedup_noise"] or "inf") for row in rows],
        "noisy": sum(row["noisy"] == "true" for row in rows),
    }


def outside(one: dict[str, Any]) -> int:
    return sum(abs(speedup - 1) > noise for speedup, noise in zip(one["speedups"], one["noises"], strict=True))


def far(values: list[float]) -> int:
    middle = statistics.median(values)
    return sum(abs(value / middle - 1) > FAR for value in values)


def extremes(values: list[float]) -> str:
    middle = statistics.median(values)
    return f"{middle:.4g} | {min(values) / middle - 1:+.0%} to {max(values) / middle - 1:+.0%}"


def main() -> int:
    options = arguments()
    programs = programs_for("speedup")
    rows, sharing = judged(programs, options)
    missed = [row for row in rows if row["verdict"] != "passed"]
    for row in missed:
        print(f"bench speedup: {row['label']}: {row['verdict']} {row['reason']}: {row['message']}", file=sys.stderr)
    found = {}
    print(
        "| problem | copies | time us | least, most | reference us | least, most | speedup | least, most | noise "
        "| outside | ranked |\n|" + "---|" * 11
    )
    for problem in sorted({row["problem"] for row in rows}):
        passed = [row for row in rows if row["problem"] == problem and row not in missed]
        if not passed:
            continue
        one = found[problem] = figures_of(passed)
        one["outside"] = outside(one)
        one["ranked"] = len(passed) - sharing.get(problem, len(passed))
        print(
            f"| {problem} | {len(passed)} | {extremes(one['times_us'])} | {extremes(one['references_us'])} | "
            f"{extremes(one['speedups'])} | {statistics.median(one['noises']):.0%} | {one['outside']} | "
            f"{one['ranked']} |"
        )
    total = {side: sum(far(one[side]) for one in found.values()) for side in ("times_us", "references_us", "speedups")}
    print(
        f"\n{len(rows) - len(missed)} of {len(rows)} passed; more than {FAR:.0%} from the median of their problem: "
        f"{total['times_us']} times, {total['references_us']} references, {total['speedups']} speedups"
    )
    every = [speedup for one in found.values() for speedup in one["speedups"]]
    figures = {
        "median_speedup": statistics.median(every) if every else None,
        "outside": sum(one["outside"] for one in found.values()),
        "ranked": sum(one["ranked"] for one in found.values()),
        "noisy": sum(one["noisy"] for one in found.values()),
    }
    if every:
        print(
            f"median speedup {figures['median_speedup']:.3f}; {figures['outside']} of {len(every)} outside their "
            f"noise, {figures['ranked']} ranked behind the first place, {figures['noisy']} on a busy machine"
        )
    if options.json:
        known = {"device": options.device, "copies": options.copies, "far": total} | figures
        options.json.write_text(json.dumps(known | {"problems": found}, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
