"""Measures the throughput of a whole sweep: many right kernels, all different, through one broker and one worker.

    scripts/bench sweep --device cuda --json FILE
        runs 200 submissions to 20 problems, torch, triton and CUDA in equal parts
    scripts/bench sweep --device cuda --gpus 1,2,4 --json FILE
        runs the same on one, two and four GPUs
    scripts/bench sweep --device cuda --peer kernelbench DIR
        runs the same beside KernelBench's own evaluation, from a checkout in DIR
    scripts/bench sweep --device cuda --large
        runs 4 submissions to 2 problems with inputs of 6.4 GB, torch alone

The sweep runs once with one trial each, which fills the build cache. Then the sweep runs again with a new worker and is
measured. --cold measures with an empty cache. Exit code 1: a job did not pass. Exit code 3: this machine has no such
device. The benchmark runs in the tree that scripts/bundle makes, or in a checkout that has been built. Jobs run under
$KQ_PYTHON.
"""

import argparse
import contextlib
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/bench"))

from process_tree import tree_below  # noqa: E402
from sweep_jobs import LARGE, Job, large_problems, problems_of, write_jobs, write_lines  # noqa: E402
from sweep_memory import Nvml, Peaks  # noqa: E402
from sweep_peer import BACKENDS, Peer, chosen  # noqa: E402

STOP_LIMIT_S = 60
RUN_LIMIT_S = 1800
SHOWN_MAX = 10
EACH = ("label", "backend", "device_uuid", "finished_at", "build_s", "run_s", "trials_s", "median_us")
ONE_TRIAL = {"correctness": 1, "warmup": 0, "timed": 1}

# The size of a sweep without further options, by device.
DEFAULTS = {
    "cuda": {
        "jobs": 200,
        "problems": 20,
        "rows": 512,
        "cols": 1024,
        "backends": "torch,triton,cuda",
        "trials": {"correctness": 5, "warmup": 2, "timed": 100},
    },
    "cpu": {
        "jobs": 40,
        "problems": 8,
        "rows": 64,
        "cols": 64,
        "backends": "torch,torch,torch,torch,triton",
        "trials": {"correctness": 2, "warmup": 1, "timed": 10},
    },
}


class Mishap(Exception):
    """A failure of kq or of the machine. The text is printed, and the exit code is 3."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench sweep", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=list(DEFAULTS), required=True)
    parser.add_argument(
        "--gpus", metavar="N,...", default="1", help="numbers of GPUs, measured one after the other (default: 1)"
    )
    parser.add_argument("--jobs", metavar="N", type=int, help="submissions (default: 200; 40 on a CPU)")
    parser.add_argument("--problems", metavar="N", type=int, help="problems (default: 20; 8 on a CPU)")
    parser.add_argument(
        "--backends",
        metavar="NAME,...",
        help="backends, taken in turn: torch, triton, cuda, torch_cuda (default: torch,triton,cuda; a few "
        "triton on a CPU; with --peer torch_cuda for cuda)",
    )
    parser.add_argument(
        "--timed", metavar="N", type=int, help="timed trials of each submission (default: 100; 10 on a CPU)"
    )
    parser.add_argument(
        "--large",
        action="store_true",
        help="relu and softmax with inputs of 6.4 GB, as in KernelBench's level 1; needs a GPU of 100 GB",
    )
    parser.add_argument("--cold", action="store_true", help="measure with an empty build cache")
    parser.add_argument(
        "--peer",
        nargs=2,
        metavar=("kernelbench", "DIR"),
        help="measure a checkout of KernelBench as well, on the first number of GPUs",
    )
    parser.add_argument(
        "--peer-jobs", metavar="N", type=int, default=24, help="submissions that the peer evaluates too (default: 24)"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure to FILE")
    options = parser.parse_args()
    options.trials = dict(DEFAULTS[options.device]["trials"])
    counts = DEFAULTS[options.device] | ({"jobs": 4, "problems": len(LARGE)} if options.large else {})
    for name in ("jobs", "problems"):
        setattr(options, name, getattr(options, name) or counts[name])
    if options.large:
        judge_large(parser, options)
    if options.timed:
        options.trials["timed"] = options.timed
    usual = "torch,triton,torch_cuda" if options.peer else DEFAULTS[options.device]["backends"]
    options.backends = (options.backends or usual).split(",")
    known = {"torch", "triton", "cuda", "torch_cuda"}
    if unknown := set(options.backends) - known:
        parser.error(f"unknown backend '{min(unknown)}'; known are {', '.join(sorted(known))}")
    if options.peer:
        judge_peer(parser, options)
    if options.device == "cpu" and not set(options.backends) <= {"torch", "triton"}:
        parser.error("on a CPU only torch and triton can pass")
    if not 1 <= options.problems <= options.jobs:
        parser.error("--problems must be from 1 to the number of jobs")
    try:
        options.gpus = [int(word) for word in options.gpus.split(",")] if options.device == "cuda" else [0]
    except ValueError:
        parser.error(f"--gpus must be numbers like 1,2,4, got '{options.gpus}'")
    return options


def judge_large(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.device != "cuda":
        parser.error("--large needs --device cuda")
    if options.problems != len(LARGE):
        parser.error(f"--large has {len(LARGE)} problems")
    if options.backends not in (None, "torch"):
        parser.error("--large is for torch alone")
    options.backends = "torch"


def judge_peer(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    name, folder = options.peer[0], Path(options.peer[1]).resolve()
    if name != "kernelbench":
        parser.error(f"unknown peer '{name}'; known is kernelbench")
    if options.device != "cuda":
        parser.error("--peer needs --device cuda: KernelBench's evaluation refuses to run without a GPU")
    if not (folder / "src/kernelbench/eval.py").exists():
        parser.error(f"{folder} is no checkout of KernelBench: there is no src/kernelbench/eval.py in it")
    if other := set(options.backends) - set(BACKENDS):
        parser.error(f"KernelBench does not take '{min(other)}'; with --peer the backends are {', '.join(BACKENDS)}")


def find_programs() -> Path:
    own = [Path(os.environ["KQ_BIN"])] if os.environ.get("KQ_BIN") else []
    for programs in (*own, ROOT / "bin", ROOT / "build/release/bin"):
        if (programs / "kq").exists():
            return programs.resolve()
    raise Mishap("no kq here; run scripts/build first")


class Stack:
    """A broker and a worker that run until stop()."""

    def __init__(self, programs: Path, state: Path, devices: str) -> None:
        self.programs, self.url = programs, f"ipc://{state.parent}/{state.name}.b"
        self.env = {
            name: value for name, value in os.environ.items() if name not in ("KQ_KEY", "KQ_KEYS", "KQ_STORE")
        } | {"KQ_BROKER": self.url}
        self.log = state.parent / f"{state.name}.log"
        start = time.monotonic()
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [str(programs / "kq"), "up", "--state", str(state), "--devices", devices],
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        if self.process.stdout.readline().strip() != self.url:
            self.stop()
            raise Mishap(f"kq up did not start: {self.log.read_text().strip()}")
        self.start_s = time.monotonic() - start

    def worker(self) -> int:
        for pid in tree_below(self.process.pid):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text().strip() == "kq-worker":
                    return pid
        raise Mishap("the worker is gone")

    def kq(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.programs / "kq"), *map(str, words)], env=self.env, capture_output=True, text=True, check=False
        )

    def sweep(self, jobs: Path, run: str) -> list[dict]:
        """Submits the jobs as one run, waits for all verdicts, and returns the rows."""
        done = self.kq(
            "submit", jobs, "--run", run, "--force-rerun", "--wait", "--exit-zero", "-q", "--timeout", str(RUN_LIMIT_S)
        )
        if done.returncode != 0:
            raise Mishap(f"kq submit: {done.stderr.strip()}")
        rows = self.kq("dump", "--run", run, "--format", "jsonl")
        if rows.returncode != 0:
            raise Mishap(f"kq dump: {rows.stderr.strip()}")
        return [json.loads(line) for line in rows.stdout.splitlines()]

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def stack(programs: Path, state: Path, devices: str) -> Iterator[Stack]:
    up = Stack(programs, state, devices)
    try:
        yield up
    finally:
        up.stop()


def seconds_of(time_text: str) -> float:
    return datetime.datetime.fromisoformat(time_text.replace("Z", "+00:00")).timestamp()


def wall_s_of(rows: list[dict]) -> float:
    """Returns the time from the first submission to the last end, by the broker's clock."""
    return max(seconds_of(row["finished_at"]) for row in rows) - min(seconds_of(row["submitted_at"]) for row in rows)


def percentile(values: list[float], share: float) -> float | None:
    """Returns a percentile by nearest rank, or None without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def lane_figures(rows: list[dict]) -> dict:
    """Returns the figures of jobs that ran on a lane. The overhead of a job is its run time less its trials."""
    ran = [row for row in rows if row["run_s"] and row["trials_s"] is not None]
    overhead_ms = [(row["run_s"] - row["trials_s"]) * 1e3 for row in ran]
    return {
        "jobs_n": len(rows),
        "lane_overhead_ms": {"p50": percentile(overhead_ms, 0.5), "p95": percentile(overhead_ms, 0.95)},
        "trials_ms_p50": percentile([row["trials_s"] * 1e3 for row in ran], 0.5),
        "run_ms_p50": percentile([row["run_s"] * 1e3 for row in ran], 0.5),
        "build_ms_p50": percentile([row["build_s"] * 1e3 for row in rows if row["build_s"] is not None], 0.5),
        "build_cached_n": sum(bool(row["build_cached"]) for row in rows),
    }


def verdict_figures(rows: list[dict]) -> dict:
    wrong = [row for row in rows if row["verdict"] != "passed"]
    return {
        "verdicts": dict(Counter(row["verdict"] for row in rows)),
        "not_passed": [
            {name: row[name] for name in ("label", "verdict", "reason", "message")} for row in wrong[:SHOWN_MAX]
        ],
    }


def pass_figures(rows: list[dict], gpus: int, start_s: float, peaks: Peaks) -> dict:
    wall_s, lane_count = wall_s_of(rows), max(gpus, 1)
    ran = [row for row in rows if row["run_s"]]
    used = {row["device_uuid"] for row in rows} - {None}
    return {
        "gpus": gpus,
        "start_s": start_s,
        "wall_s": wall_s,
        "results_per_s": len(rows) / wall_s,
        **verdict_figures(rows),
        "lanes_n": lane_count,
        "lane_busy_share": sum(row["trials_s"] or 0 for row in ran) / (wall_s * lane_count),
        "lane_occupied_share": sum(row["run_s"] for row in ran) / (wall_s * lane_count),
        **lane_figures(rows),
        "by_backend": {
            name: lane_figures([row for row in rows if row["backend"] == name])
            for name in sorted({row["backend"] for row in rows})
        },
        "host_memory_peak_bytes": peaks.host_bytes,
        "host_processes_peak_n": peaks.process_count,
        "host_processes_unread_n": peaks.unread_count,
        "gpu_memory_peak_bytes": {uuid: used_bytes for uuid, used_bytes in peaks.gpu_bytes.items() if uuid in used},
        "each": [{name: row[name] for name in EACH} for row in sorted(rows, key=lambda row: row["finished_at"])],
    }


def measure(programs: Path, folder: Path, options: argparse.Namespace, jobs: list[Job], nvml: Nvml) -> dict:
    fill, measured = folder / "fill.jsonl", folder / "measured.jsonl"
    write_lines(fill, jobs, options.device, ONE_TRIAL)
    write_lines(measured, jobs, options.device, options.trials)

    def devices(gpus: int) -> str:
        return ",".join(f"cuda:{i}" for i in range(gpus)) or "cpu"

    found: dict = {
        "device": options.device,
        "cold": options.cold,
        "jobs_n": len(jobs),
        "problems_n": options.problems,
        "backends": options.backends,
        "trials": options.trials,
        "fill": None,
        "passes": [],
    }
    if not options.cold:
        say("filling the build cache ...")
        with stack(programs, folder / "state", devices(max(options.gpus))) as up:
            rows = up.sweep(fill, "fill")
        found["fill"] = {"wall_s": wall_s_of(rows), **verdict_figures(rows)}
    for gpus in options.gpus:
        say(f"{len(jobs)} jobs on {devices(gpus)} ...")
        state = folder / (f"cold{gpus}" if options.cold else "state")
        # The worker is a new one, because a worker audits a kernel that it knows only once.
        with stack(programs, state, devices(gpus)) as up:
            with Peaks(up.worker(), nvml) as peaks:
                rows = up.sweep(measured, f"on{gpus}")
            found["passes"].append(pass_figures(rows, gpus, up.start_s, peaks))
        found["machine"] = {
            name: rows[0][name]
            for name in ("device_model", "driver", "cpu_model", "cpu_cores", "python", "torch", "triton", "kq_version")
        }
    first = found["passes"][0]
    for one in found["passes"]:
        one["scaling"] = one["results_per_s"] / first["results_per_s"]
    return found


def measure_peer(options: argparse.Namespace, folder: Path, jobs: list[Job], ours: dict) -> dict:
    """Runs a part of the sweep with KernelBench, which takes long. Returns its figures and the ratio of the rates."""
    peer = Peer(
        Path(options.peer[1]).resolve(),
        os.environ["KQ_PYTHON"],
        folder / "peer",
        options.trials,
        max(options.gpus[0], 1),
    )
    picked = chosen(jobs, options.peer_jobs)
    say(f"KernelBench: {len(picked)} of them, a process each ...")
    theirs = peer.measure(picked, options.cold)
    theirs["kq_results_per_hour"] = ours["results_per_s"] * 3600
    is_right = theirs["not_right_n"] == 0
    theirs["ratio"] = theirs["kq_results_per_hour"] / theirs["results_per_hour"] if is_right else None
    return theirs


def say(sentence: str) -> None:
    print(f"bench sweep: {sentence}", file=sys.stderr, flush=True)


def short(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def print_table(found: dict) -> None:
    machine = found["machine"]
    print(
        f"{found['jobs_n']} jobs, {found['problems_n']} problems, {'cold' if found['cold'] else 'builds cached'}, "
        "trials " + "+".join(str(n) for n in found["trials"].values()) + f"; {machine['device_model']}, "
        f"{machine['cpu_model']} with {machine['cpu_cores']} "
        "cores, "
        f"torch {machine['torch']}\n"
    )
    print(
        "| GPUs | results/s | scaling | passed | lane busy | occupied | overhead ms p50 | p95 | trials ms p50 | host "
        "MB | GPU MB |\n|" + "---|" * 11
    )
    for one in found["passes"]:
        gpu = max(one["gpu_memory_peak_bytes"].values(), default=0)
        print(
            f"| {one['gpus']} | {one['results_per_s']:.2f} | {one['scaling']:.2f} | "
            f"{one['verdicts'].get('passed', 0)} of {one['jobs_n']} "
            f"| {one['lane_busy_share']:.0%} | {one['lane_occupied_share']:.0%} | "
            f"{short(one['lane_overhead_ms']['p50'])} | {short(one['lane_overhead_ms']['p95'])} "
            f"| {short(one['trials_ms_p50'])} | {one['host_memory_peak_bytes'] / 1e6:.0f} | {gpu / 1e6:.0f} |"
        )
    print(
        "\n| GPUs | backend | jobs | overhead ms p50 | p95 | trials ms p50 | build ms p50 | of the cache |\n|"
        + "---|" * 8
    )
    for one in found["passes"]:
        for name, figures in one["by_backend"].items():
            overhead = figures["lane_overhead_ms"]
            print(
                f"| {one['gpus']} | {name} | {figures['jobs_n']} | {short(overhead['p50'])} | "
                f"{short(overhead['p95'])} | {short(figures['trials_ms_p50'])} "
                f"| {short(figures['build_ms_p50'])} | {figures['build_cached_n']} |"
            )
    for one in filter(None, [found["fill"], *found["passes"]]):
        for row in one["not_passed"]:
            print(f"not passed: {row['label']}: {row['verdict']} {row['reason'] or ''}: {row['message'] or ''}")
    if peer := found.get("peer"):
        print(
            f"\nKernelBench: {peer['jobs_n']} of the jobs in {peer['wall_s']:.1f} s, {peer['results_per_hour']:.0f} "
            "results/hour; "
            f"kq {peer['kq_results_per_hour']:.0f}, {short(peer['ratio'])} times as many"
        )
        for row in peer["not_right"]:
            print(f"not right there: {row['label']}: {row['message']}")


def main() -> int:
    options = arguments()
    os.environ.setdefault("KQ_PYTHON", "python3")
    nvml = Nvml()
    try:
        if options.device == "cuda" and len(nvml.handles) < max(options.gpus):
            raise Mishap(
                f"there are {len(nvml.handles)} GPUs here, {max(options.gpus)} are asked for"
                if nvml.handles
                else "no GPU here"
            )
        programs = find_programs()
        usual = DEFAULTS[options.device]
        with tempfile.TemporaryDirectory(prefix="kq-bench.", dir="/tmp") as name:
            folder = Path(name)
            problems = (
                large_problems() if options.large else problems_of(options.problems, usual["rows"], usual["cols"])
            )
            jobs = write_jobs(folder / "jobs", problems, options.backends, options.jobs)
            found = measure(programs, folder, options, jobs, nvml)
            if options.peer:
                found["peer"] = measure_peer(options, folder, jobs, found["passes"][0])
    except Mishap as mishap:
        say(str(mishap))
        return 3
    print_table(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    all_passed = not any(one["not_passed"] for one in filter(None, [found["fill"], *found["passes"]]))
    return 0 if all_passed and ("peer" not in found or found["peer"]["not_right_n"] == 0) else 1


if __name__ == "__main__":
    sys.exit(main())
