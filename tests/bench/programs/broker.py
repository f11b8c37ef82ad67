"""Measures kq-broker and other queues in turn on this machine.

Each run starts with a calibration of the disk, and the processor time that other processes take during the run is
recorded. A run with a slow disk or busy other processes is repeated, and the table shows their share of the processors
in the reported run. The benchmark installs nothing, and a low rate is not a failure. scripts/bench broker builds the
programs first.

The targets are ratios of one run: kq's rate in `pipelined` is at least that of Redis, and kq's p50 in `unloaded` is at
most 1.5 times the floor, which is a ZeroMQ round trip and a synced commit of one job.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/bench"))

from report import as_table, summary  # noqa: E402
from rows import CROWD, CYCLES, DEPTH, GREEDY, LIMITS, ROWS, Row  # noqa: E402
from servers import KINDS, TICK_S, Figures, Kind, Server, Trouble, is_installed, version  # noqa: E402

BODY_BYTES_MEAN = 4096
BODY_BYTES_MIN = 1024
RUN_S_MAX = 900
TRIES_MAX = 4
CALM_US = 1_000  # if a synced append takes longer, the disk or the machine is busy with other work
CALM_SHARE = 0.10  # the share of the processors that unrelated processes may use during a run
DEPTHS = (10_000, 1_000_000, 10_000_000)
# A run may finish more queued jobs than it puts, so even the quick depths must be deep enough to leave jobs for the
# restart.
DEPTHS_QUICK = (10_000, 400_000)
DEPTH_JOBS = 60_000
FILL_WORDS = ("--producers", "2", "--consumers", "0", "--batch", "200", "--in-flight", "4")
CROWD_WORDS = ("--workers", "1000", "--submitters", "100", "--pace", "10", "--run-ms", "50", "--seconds", "8")
STEADY_WORDS = ("--workers", "500", "--submitters", "1", "--pace", "100", "--run-ms", "250", "--seconds", "4")
GREEDY_JOBS = 20_000
KQ = KINDS[0]


def corpus() -> list[str]:
    """Returns the smallest source files of this tree, Python and Debian that have 4 KB on average."""
    folders = {ROOT, Path("/usr/lib/python3"), Path(sysconfig.get_paths()["stdlib"])}
    sizes = {}
    for folder in folders:
        for directory, names, files in os.walk(folder):
            names[:] = [name for name in names if name not in ("build", ".git", ".venv", "node_modules")]
            for file in files:
                path = Path(directory, file)
                if path.suffix in (".py", ".cu", ".cc") and not path.is_symlink():
                    sizes[str(path)] = path.stat().st_size
    chosen: list[str] = []
    total = 0
    for path, size in sorted(sizes.items(), key=lambda item: (item[1], item[0])):
        if size < BODY_BYTES_MIN:
            continue
        if total + size > BODY_BYTES_MEAN * (len(chosen) + 1) and chosen and size > BODY_BYTES_MEAN:
            break
        chosen.append(path)
        total += size
    return sorted(chosen)


def busy_s() -> float:
    """Returns the processor time that all processes used since the machine started, interrupts and steal included."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) * TICK_S


def children_s() -> float:
    """Returns the processor time of ended child processes, which are runs of kq-bench while all servers still run."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def noise_of(figures: Figures) -> float:
    """Returns the share of the processors that unrelated processes used, plus 1 if the disk was slow."""
    return figures.get("others_cpu_share", 0) + (1 if figures.get("calibration_us", 0) > CALM_US else 0)


def calmest(run: Callable[[], Figures], tries_max: int) -> Figures:
    """Repeats a run until its noise is below CALM_SHARE; returns the run with the least noise."""
    tries: list[Figures] = []
    for _ in range(tries_max):
        tries.append(run())
        if noise_of(tries[-1]) < CALM_SHARE:
            break
    return min(tries, key=noise_of)


class Bench:
    """Runs kq-bench against servers, with files in one directory."""

    def __init__(self, programs: Path, directory: Path, quick: bool):
        self.programs = programs
        self.directory = directory
        self.quick = quick
        self.corpus = directory / "corpus"
        self.corpus.write_text("\n".join(corpus()) + "\n")

    def ask(self, *words: str) -> Figures:
        """Runs kq-bench with these arguments and returns its figures; raises Trouble if it fails."""
        command = [str(self.programs / "kq-bench"), *words]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S_MAX)
        except subprocess.TimeoutExpired as slow:
            raise Trouble(f"kq-bench did not end within {RUN_S_MAX} s") from slow
        if done.returncode != 0:
            raise Trouble((done.stderr.strip() or f"kq-bench ended with {done.returncode}").splitlines()[-1])
        figures: Figures = json.loads(done.stdout)
        return figures

    def observed(self, server: Server, *words: str) -> Figures:
        """Runs kq-bench; adds the processor time of the server and of unrelated processes to the figures."""
        calibration = self.calibrated()
        started, busy, served = time.monotonic(), busy_s(), server.cpu_s()
        asked = children_s()
        figures = self.ask(*words)
        passed = (time.monotonic() - started) * (os.cpu_count() or 1)
        server_s = server.cpu_s() - served
        others_s = busy_s() - busy - server_s - (children_s() - asked)
        return figures | {
            "server_cpu_s": server_s,
            "others_cpu_share": max(0.0, others_s / passed),
            "calibration_us": calibration,
        }

    def calibrated(self) -> float:
        """Returns the disk's latency; waits a few seconds for a calm disk."""
        for _ in range(TRIES_MAX):
            latency = self.ask("calibrate", "--dir", str(self.directory))["fdatasync_p50_us"]
            if latency < CALM_US:
                break
            time.sleep(1)
        return latency

    def cycle(self, kind: Kind, row: Row) -> Figures:
        """Measures one row on a new server."""
        jobs = int(kind.jobs_per_s * row.share * (1 if self.quick else 3))
        keys = self.keys() if row.curve else None
        server = Server(kind, self.programs, self.directory / "server", keys, row.replicas)
        try:
            server.await_ready()
            words = ["cycle", "--peer", kind.name, "--port", str(server.port), "--jobs", str(jobs), *row.words]
            if not row.random:
                words += ["--corpus", str(self.corpus)]
            if keys is not None:
                words += ["--keys", str(keys)]
            figures = self.observed(server, *words)
            figures["server_cpu_us"] = figures["server_cpu_s"] / jobs * 1e6
            figures["resident_mb"] = server.resident_mb()
        finally:
            server.stop()
        if figures["lost"] or figures["doubled"]:
            raise Trouble(f"{figures['lost']:.0f} jobs were lost and {figures['doubled']:.0f} were doubled")
        return figures

    def keys(self) -> Path:
        """Returns the folder of keys for encrypted connections; makes the folder on the first call."""
        folder = self.directory / "keys"
        if not folder.exists():
            self.ask("keys", "--dir", str(folder))
        return folder

    def crowd(self, greedy_jobs: int, words: tuple[str, ...]) -> Figures:
        """Measures kq-broker with many workers and submitters."""
        server = Server(KQ, self.programs, self.directory / "server")
        try:
            server.await_ready()
            common = ("crowd", "--port", str(server.port), "--corpus", str(self.corpus), "--greedy", str(greedy_jobs))
            return self.observed(server, *common, *words)
        finally:
            server.stop()

    def greedy(self) -> Figures:
        """Measures how many jobs of a steady submitter are leased, and when: alone, and beside a greedy submitter."""
        alone = self.crowd(0, STEADY_WORDS)
        beside = self.crowd(GREEDY_JOBS, STEADY_WORDS)
        worse = max(alone, beside, key=noise_of)
        return {
            "alone_lease_p50_us": alone["lease_p50_us"],
            "beside_lease_p50_us": beside["lease_p50_us"],
            "beside_leased_share": beside["leased_share"],
            "slowed_share": 1 - beside["leased_share"] / max(alone["leased_share"], 1e-9),
            "others_cpu_share": worse["others_cpu_share"],
            "calibration_us": worse["calibration_us"],
        }

    def depths(self, runs: int) -> Iterator[tuple[str, Figures]]:
        """Fills one broker ever deeper. Measures cycles at each depth, then kill -9 and the restart."""
        server = Server(KQ, self.programs, self.directory / "server")
        try:
            server.await_ready()
            number = queued = 0
            for depth in DEPTHS_QUICK if self.quick else DEPTHS:
                common = ("cycle", "--port", str(server.port), "--corpus", str(self.corpus))
                self.ask(*common, "--first", str(number), "--jobs", str(depth - queued), *FILL_WORDS)
                number, queued = number + depth - queued, depth
                for _ in range(runs):
                    words = ("--first", str(number), "--jobs", str(DEPTH_JOBS), *CYCLES[0].words)
                    figures = self.observed(server, *common, *words)
                    number += DEPTH_JOBS
                    figures["server_cpu_us"] = figures["server_cpu_s"] / DEPTH_JOBS * 1e6
                    figures["resident_mb"] = server.resident_mb()
                    yield f"depth_{depth}", figures
                yield f"restart_{depth}", self.restart(server)
        finally:
            server.stop()

    def restart(self, server: Server) -> Figures:
        """Measures the time from a start after kill -9 to a worker's first lease."""
        words = [str(self.programs / "kq-bench"), "first-lease", "--port", str(server.port)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as waiting:
            server.kill()
            server.start()
            answer, _ = waiting.communicate()
        if waiting.returncode != 0:
            raise Trouble("no worker got a lease after the restart")
        server.await_ready()
        return {
            "first_lease_s": (json.loads(answer)["at_ns"] - server.started_ns) / 1e9,
            "resident_mb": server.resident_mb(),
        }


class Table:
    """The measurements: for each server its rows, and for each row its runs or the reason for their absence."""

    def __init__(self, tries_max: int) -> None:
        self.tries_max = tries_max
        self.rows: dict[str, dict[str, list[Figures]]] = {}
        self.troubles: dict[str, dict[str, str]] = {}

    def add(self, server: str, row: str, figures: Figures) -> None:
        self.rows.setdefault(server, {}).setdefault(row, []).append(figures)
        told = {name: round(value, 3) for name, value in figures.items()}
        print(f"bench broker: {server} {row}: {json.dumps(told)}", file=sys.stderr, flush=True)

    def attempt(self, server: str, row: str, run: Callable[[], Figures]) -> None:
        try:
            self.add(server, row, calmest(run, self.tries_max))
        except Trouble as trouble:
            self.complain(server, row, trouble)

    def complain(self, server: str, row: str, trouble: Trouble) -> None:
        self.troubles.setdefault(server, {})[row] = str(trouble)
        print(f"bench broker: {server} {row}: {trouble}", file=sys.stderr, flush=True)


def measure(bench: Bench, table: Table, rows: list[Row], kinds: list[Kind], runs: int) -> None:
    for _ in range(runs):
        if LIMITS in rows:
            words = ("limits", "--dir", str(bench.directory), "--corpus", str(bench.corpus))
            table.attempt(
                "limits", "limits", lambda words=words: bench.ask(*words) | {"calibration_us": bench.calibrated()}
            )
        for row in (row for row in CYCLES if row in rows):
            for kind in kinds if row.peers else [KQ]:
                table.attempt(kind.name, row.name, lambda kind=kind, row=row: bench.cycle(kind, row))
        if CROWD in rows:
            table.attempt("kq", "crowd", lambda: bench.crowd(0, CROWD_WORDS))
        if GREEDY in rows:
            table.attempt("kq", "greedy", bench.greedy)
    if DEPTH in rows:
        try:
            for name, figures in bench.depths(runs):
                table.add("kq", name, figures)
        except Trouble as trouble:
            table.complain("kq", "depth", trouble)


def machine() -> dict[str, str | int]:
    models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "processor": models[0].partition(": ")[2] if models else platform.machine(),
        "processors": os.cpu_count() or 1,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
        "kernel": platform.release(),
    }


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench broker", description="measures kq-broker beside other queues")
    names = [row.name for row in ROWS]
    peers = [kind.name for kind in KINDS]
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure to FILE")
    parser.add_argument("--runs", type=int, default=3, help="runs of each row; the table shows medians (default 3)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="use small loads: a run takes a third of the time, and its figures spread more",
    )
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="ROW", help=", ".join(names))
    parser.add_argument("--peers", nargs="*", choices=peers, default=peers, metavar="NAME", help=", ".join(peers))
    parser.add_argument("--programs", type=Path, default=ROOT / "build/release/bin", help=argparse.SUPPRESS)
    parser.add_argument(
        "--directory",
        type=Path,
        help="directory for data, whose disk is measured (default: a new directory in build/)",
    )
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an orderly exit stops the servers
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # a thousand workers need two thousand descriptors
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kinds = [kind for kind in KINDS if kind.name in options.peers or kind is KQ]
    missing = [kind for kind in kinds if not is_installed(kind)]
    for kind in missing:
        print(f"bench broker: {kind.name} is missing: apt-get install {kind.package}", file=sys.stderr)
    kinds = [kind for kind in kinds if kind not in missing]
    # The data is not in /tmp, because /tmp may be in memory.
    (ROOT / "build").mkdir(exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="bench.", dir=options.directory or ROOT / "build"))
    table = Table(1 if options.quick else TRIES_MAX)
    try:
        bench = Bench(options.programs, directory, options.quick)
        measure(bench, table, [row for row in ROWS if row.name in options.only], kinds, options.runs)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        result = {
            "date": time.strftime("%Y-%m-%d"),
            "machine": machine(),
            "command": " ".join(["scripts/bench broker", *arguments]),
            **summary(table.rows, table.troubles, [(kind, version(kind)) for kind in kinds]),
            "missing": {kind.name: f"apt-get install {kind.package}" for kind in missing},
        }
        if options.json:
            options.json.write_text(json.dumps(result, indent=1) + "\n")
        print(as_table(result))


if __name__ == "__main__":
    main(sys.argv[1:])
