"""Measures what a job of a problem with many small workloads costs, beside a job of a problem with one of them.

    scripts/bench workloads --device cpu|cuda [--workloads N] [--jobs N] [--json FILE]

The figure is the column run_s, the time that a job takes on its device lane. It is measured twice: for jobs of one
problem in a row, and for jobs that each follow a job of another problem, so that the reference is loaded anew. Every
job has a kernel of its own. A first sweep on the same problems looks at each problem and is not counted. The benchmark
runs in the tree that scripts/bundle makes, or in a checkout that has been built. Jobs run under $KQ_PYTHON (default:
python3). Exit code 1: a job did not pass. Exit code 3: this machine has no such device.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sweep_rows import programs_for, rows_of_sweep  # noqa: E402

PROBLEM = """import torch


class {name}(torch.nn.Module):
    def forward(self, x):
        return x * {factor} + 1


WORKLOADS = [{{"rows": 64 + i}} for i in range({workloads})]


def get_inputs(rows):
    return [torch.randn(rows, 256)]
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench workloads", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--workloads", metavar="N", type=int, default=16, help="workloads of a problem (default: 16)")
    parser.add_argument("--jobs", metavar="N", type=int, default=14, help="counted jobs of each row (default: 14)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure to FILE, in seconds")
    options = parser.parse_args()
    if not 2 <= options.workloads <= 128 or options.jobs < 1:
        parser.error("--workloads is 2 to 128, --jobs is 1 or more")
    return options


def write_jobs(folder: Path, options: argparse.Namespace, sweep: int) -> Path:
    """Writes the jobs of one sweep. Jobs of different problems have different factors; the first of a row only loads
    the problem's reference, and is not counted.
    """
    lines = []
    for order in ("in_a_row", "in_turns"):
        for workloads in (1, options.workloads):
            for job in range(options.jobs + 1):
                factor = 2 if order == "in_a_row" else 3 + job
                problem = folder / f"{order}_{workloads}_{factor}.py"
                problem.write_text(PROBLEM.format(name="Model", factor=factor, workloads=workloads))
                kernel = folder / f"{order}-{workloads}-{sweep}-{job}.py"
                kernel.write_text(PROBLEM.format(name="ModelNew", factor=factor, workloads=workloads) + f"# {kernel}\n")
                lines.append(
                    {
                        "label": kernel.stem,
                        "path": kernel.name,
                        "problem": problem.name,
                        "backend": "torch",
                        "device": options.device,
                    }
                )
    jobs = folder / f"jobs-{sweep}.jsonl"
    jobs.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return jobs


def judged(programs: Path, options: argparse.Namespace) -> list[dict[str, str]]:
    """Returns the rows of the second sweep."""
    with tempfile.TemporaryDirectory(prefix="kq-workloads.") as place:
        folder = Path(place)
        rows: list[dict[str, str]] = []
        for sweep in range(2):
            jobs = write_jobs(folder, options, sweep)
            rows, _ = rows_of_sweep("workloads", programs, jobs, f"workloads-{sweep}", options.device, folder / "state")
        return rows


def main() -> int:
    options = arguments()
    programs = programs_for("workloads")
    rows = judged(programs, options)
    missed = [row for row in rows if row["verdict"] != "passed"]
    for row in missed:
        print(f"bench workloads: {row['label']}: {row['verdict']} {row['reason']}: {row['message']}", file=sys.stderr)
    times: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        order, workloads, _, job = row["label"].split("-")
        if row not in missed and int(job) > 0:
            times.setdefault(order, {}).setdefault(int(workloads), []).append(float(row["run_s"]))
    print("| jobs | workloads | jobs | run s | least, most | times one workload |\n|" + "---|" * 6)
    ratios = {}
    for order, found in times.items():
        one_s = statistics.median(found[1]) if 1 in found else None
        for workloads, seconds in found.items():
            middle_s = statistics.median(seconds)
            ratio = middle_s / one_s if one_s else None
            if workloads != 1:
                ratios[order] = ratio
            print(
                f"| {order.replace('_', ' ')} | {workloads} | {len(seconds)} | {middle_s:.3f} | "
                f"{min(seconds):.3f}, {max(seconds):.3f} | {'-' if ratio is None else f'{ratio:.2f}'} |"
            )
    if options.json:
        known = {"device": options.device, "workloads": options.workloads, "ratios": ratios, "run_s": times}
        options.json.write_text(json.dumps(known, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
