"""Compares kq's published times with CUDA events and with triton's do_bench, for ten honest kernels on a GPU.

    scripts/bench clock [--json FILE] [--repeats N] [--kernels NAME,...]

    published   the time that kq publishes: judged in a separate process, fresh inputs, cold cache
    events      CUDA events around one call in this process, with the L2 cache emptied before each call
    do_bench    triton.testing.do_bench of the same call

Afterwards four jobs run N times each (default 20). The benchmark reports the spread of their medians beside the spread
of as many plain processes that time the same call by events with a cold cache: two processes on one machine agree no
better than that. The benchmark runs in the tree that scripts/bundle makes, or in a checkout that has been built. Jobs
run under $KQ_PYTHON (default: python3). Exit code 3: this machine has no GPU.
"""

import argparse
import csv
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT_S = 400
# Each round has new inputs, because their place in memory changes the time of a transpose by 3 %, and kq's inputs lie
# at other places. Rounds are short and followed by a pause: when do_bench runs for 100 ms on an H200, a half-precision
# matmul takes 6 to 10 % longer than in the first 25 ms, because the GPU reaches its power limit.
ROUNDS = 7
EVENT_CALLS = 20
BENCH_MS = 15
PAUSE_S = 0.05
HEAD_START_CYCLES = 20_000_000  # 10 ms in which the host queues calls, so that a slow host is not timed
PLACES = 4  # places in memory of kq's inputs (gpu_worker/judge/trial/submission_side.cc)
TRIALS = {"correctness": 2, "warmup": 3, "timed": 100}
FLUSH_BYTES = 256 << 20
REPEATED = ["scale_4m", "softmax_16m", "matmul_1024", "relu_256m"]
NOISE_US, NOISE_SHARE = 1.0, 0.03  # allowed difference between clocks: the larger of the two

# name: the inputs that get_inputs() returns, the expression that forward() returns
KERNELS = {
    "scale_4m": ("torch.rand(1 << 20)", "x * 2"),
    "relu_16m": ("torch.rand(1 << 22)", "torch.relu(x)"),
    "softmax_16m": ("torch.rand(4096, 1024)", "torch.softmax(x, 1)"),
    "transpose_64m": ("torch.rand(4096, 4096)", "x.t().contiguous()"),
    "matmul_1024": ("torch.rand(1024, 1024), torch.rand(1024, 1024)", "x @ y"),
    "relu_256m": ("torch.rand(1 << 26)", "torch.relu(x)"),
    "half_4096": ("torch.rand(4096, 4096).half(), torch.rand(4096, 4096).half()", "x @ y"),
    "sum_1g": ("torch.rand(8192, 32768)", "x.sum(1)"),
    "relu_1g": ("torch.rand(1 << 28)", "torch.relu(x)"),
    "matmul_4096": ("torch.rand(4096, 4096), torch.rand(4096, 4096)", "x @ y"),
}

PROBLEM = """import torch


class {model}(torch.nn.Module):
    def forward(self, {parameters}):
        return {result}
"""
INPUTS = """

def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


def parameters_of(inputs: str) -> str:
    return "x, y" if inputs.count("torch.rand") == 2 else "x"


def write_jobs(root: Path, names: list[str], repeats: int) -> None:
    with (root / "jobs.jsonl").open("w") as jobs:
        for name in names:
            inputs, result = KERNELS[name]
            parameters = parameters_of(inputs)
            problem = PROBLEM.format(model="Model", parameters=parameters, result=result) + INPUTS.format(inputs=inputs)
            (root / f"{name}.py").write_text(problem)
            for i in range(repeats):
                kernel = PROBLEM.format(model="ModelNew", parameters=parameters, result=result) + f"# {i}\n"
                (root / f"{name}_{i}_kernel.py").write_text(kernel)
                job = {
                    "id": f"{name}/{i}",
                    "path": f"{name}_{i}_kernel.py",
                    "problem": f"{name}.py",
                    "backend": "torch",
                    "device": "cuda",
                    "params": TRIALS,
                }
                jobs.write(json.dumps(job) + "\n")


def judged(programs: Path, names: list[str], repeats: int) -> dict[str, list[dict[str, str]]]:
    """Runs kq sweep and returns the CSV rows of each kernel. Rows that did not pass are printed and left out."""
    with tempfile.TemporaryDirectory(prefix="kq-clock.") as folder:
        root = Path(folder)
        write_jobs(root, names, repeats)
        done = subprocess.run(
            [
                programs / "kq",
                "sweep",
                root / "jobs.jsonl",
                "--run",
                "clock",
                "--device",
                "cuda",
                "--state",
                root / "state",
                "--csv",
                root / "rows.csv",
            ],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if not (root / "rows.csv").exists():
            sys.exit(f"bench clock: kq sweep: {done.stderr.strip()}")
        with (root / "rows.csv").open(newline="") as source:
            rows = list(csv.DictReader(source))
    found: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if row["verdict"] != "passed":
            print(f"bench clock: {row['label']}: {row['verdict']} {row['reason']}: {row['message']}", file=sys.stderr)
            continue
        found.setdefault(row["label"].split("/")[0], []).append(row)
    return found


def inputs_and_work(name: str) -> tuple[Callable[[], list[Any]], Callable[..., Any]]:
    import torch

    inputs, result = KERNELS[name]

    def drawn() -> list[Any]:
        with torch.device("cuda"):
            return list(eval(f"[{inputs}]", {"torch": torch}))

    return drawn, eval(f"lambda {parameters_of(inputs)}: {result}", {"torch": torch})


def event_times(work: Callable[..., Any], arguments: list[Any], calls: int) -> list[float]:
    """Returns the times of calls with an empty cache, in microseconds."""
    import torch

    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    with torch.no_grad():
        for _ in range(5):
            work(*arguments)
        torch.cuda.synchronize()
        time.sleep(PAUSE_S)
        pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(calls)]
        torch.cuda._sleep(HEAD_START_CYCLES)
        for start, end in pairs:
            flush.zero_()
            start.record()
            work(*arguments)
            end.record()
        torch.cuda.synchronize()
    return [start.elapsed_time(end) * 1e3 for start, end in pairs]


def here(name: str) -> tuple[float, float]:
    """Returns the medians in microseconds by events and by do_bench, measured in this process."""
    import triton.testing

    drawn, work = inputs_and_work(name)
    arguments = drawn()
    events, benches = [], []
    for _ in range(ROUNDS):
        kept = arguments  # the old inputs stay until the new ones exist, so that the new ones lie elsewhere
        arguments = drawn()
        del kept
        events += event_times(work, arguments, EVENT_CALLS)
        time.sleep(PAUSE_S)
        benches.append(
            triton.testing.do_bench(lambda given=arguments: work(*given), warmup=1, rep=BENCH_MS, return_mode="median")
            * 1e3
        )
    return statistics.median(events), statistics.median(benches)


def plain(name: str) -> float:
    """Returns the median in microseconds by events, in a fresh process, with inputs at as many places as kq's."""
    drawn, work = inputs_and_work(name)
    kept = [drawn() for _ in range(PLACES)]
    return statistics.median(
        one for arguments in kept for one in event_times(work, arguments, TRIALS["timed"] // PLACES)
    )


def spread(times: list[float]) -> float:
    return (max(times) - min(times)) / statistics.median(times)


def compare_clocks(programs: Path, names: list[str], figures: dict[str, dict[str, Any]]) -> None:
    """Prints a row for each kernel with the time by each clock, and adds the figures."""
    print(
        "| kernel | published us | events us | do_bench us | attested us | its own events us | burst us | std us | "
        "agree |\n|" + "---|" * 9
    )
    rows = judged(programs, names, 1)
    for name in names:
        if name not in rows:
            continue
        row = rows[name][0]
        events, bench = here(name)
        published = float(row["median_us"])
        far = max(abs(published - events), abs(published - bench), abs(events - bench))
        agree = far <= max(NOISE_US, NOISE_SHARE * min(published, events, bench))
        figures[name] = {
            "published_us": published,
            "events_us": events,
            "do_bench_us": bench,
            "attested_us": float(row["attested_us"] or 0),
            "event_us": float(row["event_us"] or 0),
            "burst_us": float(row["burst_us"] or 0),
            "std_us": float(row["std_us"]),
            "overhead_us": float(row["overhead_us"]),
            "run_s": float(row["run_s"]),
            "agree": agree,
        }
        f = figures[name]
        print(
            f"| {name} | {published:.2f} | {events:.2f} | {bench:.2f} | {f['attested_us']:.2f} | {f['event_us']:.2f} "
            f"| {f['burst_us']:.2f} | {f['std_us']:.2f} | {'yes' if agree else 'no'} |",
            flush=True,
        )


def compare_repeats(programs: Path, repeats: int, figures: dict[str, dict[str, Any]]) -> None:
    """Prints a row for each repeated job with the spread of its times, and adds the figures."""
    print(
        "\n| job | times | least us | median us | most us | spread | attested us | burst in doubt | plain processes: "
        "median us | spread |\n|" + "---|" * 10
    )
    fresh = multiprocessing.get_context("forkserver")  # its children have torch and no CUDA context yet
    fresh.set_forkserver_preload(["torch"])
    for name, rows_of in judged(programs, REPEATED, repeats).items():
        medians = [float(row["median_us"]) for row in rows_of]
        judge_us = [float(row["attested_us"] or 0) for row in rows_of]
        bursts = sum(float(row["burst_us"] or 0) > 0 for row in rows_of)
        with fresh.Pool(1, maxtasksperchild=1) as pool:
            others = pool.map(plain, [name] * repeats, chunksize=1)
        print(
            f"| {name} | {len(medians)} | {min(medians):.2f} | {statistics.median(medians):.2f} | {max(medians):.2f} "
            f"| {spread(medians):.1%} | "
            f"{min(judge_us):.2f} to {max(judge_us):.2f} | {bursts} | {statistics.median(others):.2f} | "
            f"{spread(others):.1%} |",
            flush=True,
        )
        figures[f"{name} repeated"] = {
            "published_us": medians,
            "spread": spread(medians),
            "attested_us": judge_us,
            "bursts": bursts,
            "plain_us": others,
            "plain_spread": spread(others),
        }


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench clock", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure to FILE, in microseconds")
    parser.add_argument(
        "--kernels",
        metavar="NAME,...",
        default=",".join(KERNELS),
        help=f"measure only these of {', '.join(KERNELS)} (default: all)",
    )
    parser.add_argument(
        "--repeats", metavar="N", type=int, default=20, help="repeats of each job whose spread is measured"
    )
    options = parser.parse_args()
    names = [name for name in options.kernels.split(",") if name]
    if unknown := set(names) - set(KERNELS):
        parser.error(f"unknown kernel '{min(unknown)}'; known are {', '.join(KERNELS)}")
    root = Path(__file__).resolve().parents[3]
    programs = next((p for p in (root / "bin", root / "build/release/bin") if (p / "kq").exists()), None)
    if programs is None:
        print("bench clock: no kq here; run scripts/build first", file=sys.stderr)
        return 2
    os.environ.setdefault("KQ_PYTHON", "python3")
    try:
        import torch

        if not torch.cuda.is_available():
            raise ImportError("no GPU")
    except ImportError as error:
        print(f"bench clock: {error}", file=sys.stderr)
        return 3

    figures: dict[str, dict[str, Any]] = {}
    compare_clocks(programs, names, figures)
    compare_repeats(programs, options.repeats, figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
