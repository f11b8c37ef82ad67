"""Shows which conditions change the constant of kq's clock: the interval of a null call, subtracted from every sample.

    scripts/bench constant [--json FILE] [--repeats N] [--device cpu]

One small kernel runs N times (default 5) under each of several conditions: more local memory or a larger stack of the
submission, other contexts on the GPU, other work on the cores. Each line has the calibrated constant, the change of the
calibrator's own constant during an attempt (drift), and "off": the judge's time less the time of the submission's
events. "off" shows what the calibration missed, because the calibration runs before the submission's code. The
benchmark reports the clock rates of the GPU and does not change them.

The benchmark runs in the tree that scripts/bundle makes, or in a checkout that has been built. Jobs run under
$KQ_PYTHON (default: python3). --device cpu runs the benchmark without a GPU, with fewer conditions. Exit code 1: a
condition has no figures. Exit code 3: this machine has no GPU.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TRIALS = {"correctness": 1, "warmup": 2, "timed": 20}
LIMIT_S = 80  # no condition starts after this time
SWEEP_LIMIT_S = 120
ELEMENTS = 1 << 20

PROBLEM = f"""import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1


def get_inputs():
    return [torch.rand({ELEMENTS})]


def get_init_inputs():
    return []
"""
TORCH = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x + 1
"""
# This kernel raises the stack size. The driver reserves that stack for every thread that the GPU can run at once, from
# the first launch on.
STACK = """import ctypes

import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.zeros(1, device="cuda")
        if ctypes.CDLL("libcuda.so.1").cuCtxSetLimit(0, ctypes.c_size_t({bytes})) != 0:
            raise RuntimeError("no such stack")

    def forward(self, x):
        return x + 1
"""
# The driver reserves local memory for the array, although no call has the value of n that uses the array.
LOCAL = """extern "C" __global__ void plus(const float* x, float* out, int n) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (n == 7) {{
    volatile float local[{words}];
    for (int j = 0; j < {words}; ++j) local[j] = x[j];
    out[0] = local[i % {words}];
  }}
  if (i < n) out[i] = x[i] + 1.0f;
}}
"""
CONTRACT = {
    "kernel_name": "plus",
    "args": [
        {"name": "x", "type": "tensor", "role": "input"},
        {"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [ELEMENTS], "dtype": "float32"}},
        {"name": "n", "type": "int", "value": ELEMENTS},
    ],
    "launch": {"grid": {"x": ELEMENTS // 256}, "block": {"x": 256}},
}

# Programs that run beside the jobs. Each prints a line when it is ready, and ends when its standard input closes.
IDLE_CONTEXT = """import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
for result in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
               cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64 << 20))):
    if result != 0:
        sys.exit(f"CUDA error {result}")
print("ready", flush=True)
sys.stdin.read()
"""
BUSY = """import os, threading, zlib
threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
data = os.urandom(1 << 20) * 4
print("ready", flush=True)
while True:
    zlib.compress(data, 1)
"""


@dataclass(frozen=True)
class Condition:
    name: str
    kernel: str
    beside: str = ""
    beside_count: int = 0


def conditions(device: str) -> list[Condition]:
    cores = len(os.sched_getaffinity(0))
    plain = LOCAL.format(words=1) if device == "cuda" else TORCH
    busy = [
        Condition(f"{n} busy processes on {cores} cores", plain, BUSY, n)
        for n in (max(1, cores // 2), cores, 2 * cores)
    ]
    of_gpu = [
        Condition(f"local memory of {size} bytes a thread", LOCAL.format(words=size // 4))
        for size in (1024, 16384, 65536)
    ]
    of_gpu += [Condition("torch, as it is", TORCH)]
    of_gpu += [Condition(f"stack of {size} bytes a thread", STACK.format(bytes=size)) for size in (16384, 65536)]
    of_gpu += [Condition(f"{n} other contexts", plain, IDLE_CONTEXT, n) for n in (1, 4, 8)]
    return [Condition("alone", plain), *(of_gpu if device == "cuda" else []), *busy, Condition("alone again", plain)]


@contextmanager
def company(condition: Condition) -> Iterator[None]:
    running: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(condition.beside_count):
            running.append(
                subprocess.Popen([python(), "-c", condition.beside], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
        for one in running:
            if one.stdout is None or not one.stdout.readline():
                sys.exit(f"bench constant: {condition.name}: what should run beside the jobs ended")
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


@contextmanager
def queue(programs: Path, root: Path, device: str) -> Iterator[str]:
    """Runs one broker and one worker for all conditions, so that no condition includes their start. Yields the URL."""
    url, state = f"ipc://{root}/b", ["--state", root / "state"]
    devices = "cuda:0" if device == "cuda" else "cpu"
    up = subprocess.run(
        [programs / "kq", "up", "-d", *state, "--broker-url", url, "--devices", devices],
        check=False,
        capture_output=True,
        text=True,
    )
    if up.returncode != 0:
        sys.exit(f"bench constant: kq up: {up.stderr.strip()}")
    try:
        yield url
    finally:
        subprocess.run([programs / "kq", "down", *state], check=False, capture_output=True)


def write_jobs(root: Path, condition: Condition, number: int, repeats: int, device: str) -> Path:
    """Writes kernels that differ in a comment only, because equal submissions are one job. Returns the list of jobs."""
    root.mkdir()
    (root / "plus.py").write_text(PROBLEM)
    suffix, comment, backend = (".cu", "//", "cuda") if "__global__" in condition.kernel else (".py", "#", "torch")
    with (root / "jobs.jsonl").open("w") as jobs:
        for i in range(repeats):
            kernel = root / f"kernel_{i}{suffix}"
            kernel.write_text(f"{condition.kernel}{comment} {number} {i}\n")
            if backend == "cuda":
                kernel.with_suffix(".json").write_text(json.dumps(CONTRACT))
            job = {
                "id": f"plus/{i}",
                "path": kernel.name,
                "problem": "plus.py",
                "backend": backend,
                "device": device,
                "params": TRIALS,
            }
            jobs.write(json.dumps(job) + "\n")
    return root / "jobs.jsonl"


def judged(programs: Path, jobs: Path, url: str) -> list[dict[str, str]]:
    """Runs the jobs and returns the rows that passed. The other rows are printed."""
    rows = jobs.parent / "rows.csv"
    done = subprocess.run(
        [programs / "kq", "sweep", jobs, "--run", jobs.parent.name, "--broker", url, "--csv", rows, "--exit-zero"],
        capture_output=True,
        text=True,
        timeout=SWEEP_LIMIT_S,
        check=False,
    )
    if not rows.exists():
        sys.exit(f"bench constant: kq sweep: {done.stderr.strip()}")
    with rows.open(newline="") as source:
        found = list(csv.DictReader(source))
    for row in found:
        if row["verdict"] != "passed":
            print(
                f"bench constant: {row['label']}: {row['verdict']} {row['reason']}: {row['message']}", file=sys.stderr
            )
    return [row for row in found if row["verdict"] == "passed"]


COLUMNS = (
    "overhead_us",
    "drift_us",
    "median_us",
    "sm_clock_mhz",
    "mem_clock_mhz",
    "temp_c",
    "power_w",
    "run_s",
    "trials_s",
)


def figures_of(rows: list[dict[str, str]]) -> dict[str, list[float]]:
    figures = {name: [float(row[name]) for row in rows if row[name]] for name in COLUMNS}
    return figures | {"off_us": [float(row["attested_us"]) - float(row["event_us"]) for row in rows if row["event_us"]]}


def line_of(name: str, rows: list[dict[str, str]]) -> str:
    figures = figures_of(rows)

    def median(column: str, digits: int) -> str:
        return f"{statistics.median(figures[column]):.{digits}f}" if figures[column] else "-"

    overheads = sorted(figures["overhead_us"]) or [float("nan")]
    drift = max(map(abs, figures["drift_us"]), default=float("nan"))
    throttle = " ".join(sorted({row["throttle"] for row in rows if row["throttle"]})) or "-"
    cells = [
        name,
        str(len(rows)),
        median("overhead_us", 2),
        f"{overheads[0]:.2f} to {overheads[-1]:.2f}",
        f"{drift:.2f}",
        median("off_us", 2),
        median("median_us", 2),
        median("sm_clock_mhz", 0),
        median("temp_c", 0),
        median("power_w", 0),
        throttle,
    ]
    return "| " + " | ".join(cells) + " |"


def python() -> str:
    return os.environ.get("KQ_PYTHON", "python3")


def has_gpu() -> bool:
    asked = subprocess.run(
        [python(), "-c", "import ctypes; assert ctypes.CDLL('libcuda.so.1').cuInit(0) == 0"],
        check=False,
        capture_output=True,
    )
    return asked.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench constant", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure of every job to FILE")
    parser.add_argument("--repeats", metavar="N", type=int, default=5, help="jobs under each condition (default 5)")
    parser.add_argument(
        "--device", choices=("cuda", "cpu"), default="cuda", help="cpu runs the benchmark without a GPU (default: cuda)"
    )
    options = parser.parse_args()
    root = Path(__file__).resolve().parents[3]
    programs = next((p for p in (root / "bin", root / "build/release/bin") if (p / "kq").exists()), None)
    if programs is None:
        print("bench constant: no kq here; run scripts/build first", file=sys.stderr)
        return 2
    if options.device == "cuda" and not has_gpu():
        print("bench constant: no GPU", file=sys.stderr)
        return 3
    os.environ["KQ_PYTHON"] = python()

    begun = time.monotonic()
    all_figures: dict[str, dict[str, list[float]]] = {}
    wanted = conditions(options.device)
    print(
        "| condition | jobs | constant us | least to most | drift us, most | off us | published us | SM MHz | C | W | "
        "throttle |\n|" + "---|" * 11
    )
    with (
        tempfile.TemporaryDirectory(prefix="kq-constant.") as folder,
        queue(programs, Path(folder), options.device) as url,
    ):
        for number, condition in enumerate(wanted):
            if time.monotonic() - begun > LIMIT_S:
                print(f"bench constant: no time left for {condition.name}", file=sys.stderr)
                continue
            jobs = write_jobs(Path(folder) / f"condition_{number}", condition, number, options.repeats, options.device)
            with company(condition):
                rows = judged(programs, jobs, url)
            print(line_of(condition.name, rows), flush=True)
            if rows:
                all_figures[condition.name] = figures_of(rows)
    if options.json:
        options.json.write_text(
            json.dumps({"seconds": time.monotonic() - begun, "conditions": all_figures}, indent=1) + "\n"
        )
    return 0 if len(all_figures) == len(wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
