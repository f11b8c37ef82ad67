"""Measures what each kind of bad kernel costs the good kernels before and after it on one device.

    scripts/bench faults --device cpu|cuda [--times N] [--json FILE]

The cost of a bad kernel is the time from the end of the good kernel before it to the end of the good kernel after it,
less the time of one good kernel and less the limit of the bad kernel where it has one. The effect on others is the time
of the good kernel after the bad one, beside the times of good kernels after good ones. The target is a cost of at most
one second and no effect. The benchmark runs in the tree that scripts/bundle makes, or in a checkout that has been
built. Jobs run under $KQ_PYTHON (default: python3).

Exit code 1: a job had another verdict than expected, or more than one attempt. Exit code 2: an option is wrong, or kq
is not built. Exit code 3: kq sweep did not return a row for every job; this is so if the machine has no such device.
"""

import argparse
import datetime
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/bench"))

from fault_jobs import OTHERS_LIMIT_S, PROBLEM, Fault, bad_kernel, faults_of, good_kernel  # noqa: E402
from sweep_rows import programs_for, rows_of_sweep  # noqa: E402

# Rows of the problem's input by device.
ROWS = {"cuda": 4096, "cpu": 256}
GOOD_COUNT = 12  # good kernels at the start, which show the usual cost and the usual spread of times
# The first good kernels do not count, because the reference and the first children start meanwhile.
SKIPPED_COUNT = 4
ORDER = "kernel_{:04}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument(
        "--times", metavar="N", type=int, default=3, help="runs of each kind of bad kernel (default: 3)"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure to FILE")
    options = parser.parse_args()
    if options.times < 1:
        parser.error("--times is 1 or more")
    return options


def schedule(faults: dict[str, Fault], times: int) -> list[str | None]:
    """Returns the order of the kernels: the name of a fault, or None for a good kernel."""
    order: list[str | None] = [None] * GOOD_COUNT
    for _ in range(times):
        for name in faults:
            order += [name, None]
    return order


def write_jobs(folder: Path, order: list[str | None], faults: dict[str, Fault], device: str) -> Path:
    (folder / "relu.py").write_text(PROBLEM.format(rows=ROWS[device]))
    lines = []
    for number, name in enumerate(order):
        kernel = folder / f"{ORDER.format(number)}.py"
        kernel.write_text(bad_kernel(faults[name], number) if name else good_kernel(number))
        line = {
            "label": kernel.stem,
            "path": kernel.name,
            "problem": "relu.py",
            "backend": faults[name].backend if name else "torch",
            "device": device,
            "params": {"timed": 20},
        }
        if name:
            line["time_limit_s"] = faults[name].limit_s or OTHERS_LIMIT_S
        lines.append(json.dumps(line))
    jobs = folder / "jobs.jsonl"
    jobs.write_text("\n".join(lines) + "\n")
    return jobs


def judged(programs: Path, order: list[str | None], faults: dict[str, Fault], device: str) -> list[dict[str, str]]:
    """Runs the jobs and returns their rows in the order of their ends, with the name of the fault as `kind`."""
    with tempfile.TemporaryDirectory(prefix="kq-faults.") as place:
        folder = Path(place)
        jobs = write_jobs(folder, order, faults, device)
        found, said = rows_of_sweep("faults", programs, jobs, "faults", device, folder / "state")
        rows = sorted(found, key=lambda row: row["label"])
    if len(rows) != len(order):
        print(
            f"bench faults: {len(order)} jobs were sent and {len(rows)} rows came back: {said.strip()}",
            file=sys.stderr,
        )
        sys.exit(3)
    return sorted(
        ({**row, "kind": name or ""} for row, name in zip(rows, order, strict=True)), key=lambda row: row["finished_at"]
    )


def seconds_of(time_text: str) -> float:
    return datetime.datetime.fromisoformat(time_text.replace("Z", "+00:00")).timestamp()


def figures_of(rows: list[dict[str, str]], faults: dict[str, Fault]) -> dict[str, Any]:
    """Returns the figures of each fault, by the order in which jobs ended.

    A job with a long build may end later than in the schedule. A bad kernel counts only if a good kernel ended just
    before it and just after it.
    """
    ends = [seconds_of(row["finished_at"]) for row in rows]
    usual = range(SKIPPED_COUNT, GOOD_COUNT)  # good kernels after good kernels
    good_s = statistics.median(ends[i] - ends[i - 1] for i in usual)
    figures: dict[str, Any] = {"good_s": good_s, "good_us": [time_us(rows[i]) for i in usual], "faults": {}}
    for name, fault in faults.items():
        places = [i for i, row in enumerate(rows) if row["kind"] == name]
        counted = [i for i in places if 0 < i < len(rows) - 1 and not rows[i - 1]["kind"] and not rows[i + 1]["kind"]]
        figures["faults"][name] = {
            "limit_s": fault.limit_s,
            "verdicts": [rows[i]["verdict"] for i in places],
            "cost_s": [ends[i + 1] - ends[i - 1] - good_s - fault.limit_s for i in counted],
            "next_us": [time_us(rows[i + 1]) for i in counted],
            "next_reference_us": [float(rows[i + 1]["reference_us"] or "nan") for i in counted],
        }
    return figures


def time_us(row: dict[str, str]) -> float:
    return float(row["median_us"] or "nan")


def mistakes_of(rows: list[dict[str, str]], faults: dict[str, Fault]) -> list[str]:
    """Returns a sentence for each job with an unexpected verdict, and for each job that needed several attempts."""
    wrong = []
    for row in rows:
        name = row["kind"]
        expected = faults[name].verdicts if name else ("passed",)
        if row["verdict"] not in expected:
            wrong.append(f"{name or 'good'} ({row['label']}): {row['verdict']} {row['reason']}: {row['message']}")
        if int(row["attempt"]) != 1:
            wrong.append(f"{name or 'good'} ({row['label']}): {row['attempt']} attempts")
    return wrong


def main() -> int:
    options = arguments()
    programs = programs_for("faults")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")  # with one lane, jobs end in the order of submission
    faults = faults_of(options.device)
    order = schedule(faults, options.times)
    rows = judged(programs, order, faults, options.device)
    figures = {"device": rows[0]["device_model"], **figures_of(rows, faults)}
    good_us = statistics.median(figures["good_us"])
    print(
        f"{figures['device']}: a good kernel takes {figures['good_s'] * 1e3:.0f} ms, its time is {good_us:.4g} us "
        f"({min(figures['good_us']) / good_us - 1:+.1%} to {max(figures['good_us']) / good_us - 1:+.1%})\n"
    )
    print(
        "| fault | verdict | limit, s | cost beyond the limit, ms: median | maximum "
        "| change of the next kernel's time: median | minimum, maximum |\n|" + "---|" * 7
    )
    for name, fault in figures["faults"].items():
        costs = [cost * 1e3 for cost in fault["cost_s"]] or [float("nan")]
        ratios = [us / good_us - 1 for us in fault["next_us"]] or [float("nan")]
        print(
            f"| {name} | {', '.join(sorted(set(fault['verdicts'])))} | {fault['limit_s'] or '-'} | "
            f"{statistics.median(costs):.0f} | {max(costs):.0f} "
            f"| {statistics.median(ratios):+.1%} | {min(ratios):+.1%}, {max(ratios):+.1%} |"
        )
    wrong = mistakes_of(rows, faults)
    for sentence in wrong:
        print(f"bench faults: {sentence}", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
