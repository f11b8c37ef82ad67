"""The profile child: runs one submission under NVIDIA's ncu. It has the sandbox of a submission child.

The profiler, and the reader of its report, run inside the sandbox too, because the profiled code can write anything
into the report. The child leaves in out/:

    report.ncu-rep   the report, for ncu-ui
    details.txt      the report as text
    metrics.csv      the report as ncu's "raw" page, in base units
    metrics.json     the figures (ncu_metrics.py): {"tool": "ncu 2025.3.1.0", "message": "",
                     "kernels": [{"kernel": NAME, "metrics": {"GROUP.KEY": 1.5}}]}
    profiler.log     the output of ncu itself

The second call is profiled; the first one compiles, tunes and loads (profiled_program.py). kq-launcher launches the
kernel once in each call, and nothing else.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

from harness.children.channel import CHANNEL_FD
from harness.children.job import Job
from harness.children.page import TEXT_MAX
from harness.profiling import ncu_metrics

KERNELS_MAX = 10  # as in core/result.h
# The sections that ncu_metrics.py reads, and those that a person wants to see. ncu's set "full" would add megabytes of
# samples.
SECTIONS = (
    "ComputeWorkloadAnalysis",
    "InstructionStats",
    "LaunchStats",
    "MemoryWorkloadAnalysis",
    "MemoryWorkloadAnalysis_Tables",
    "Occupancy",
    "SchedulerStats",
    "SourceCounters",
    "SpeedOfLight",
    "SpeedOfLight_RooflineChart",
    "WarpStateStats",
    "WorkloadDistribution",
)
READ_LIMIT_S = 60.0


def run(job: Job, runtime: str, launcher: str) -> int:
    log, report = job.out / "profiler.log", job.out / "report.ncu-rep"
    options = ["--clock-control", "none", "--target-processes", "application-only"]
    options += ["--log-file", str(log), "--force-overwrite", "--export", str(report)]
    options += [word for section in SECTIONS for word in ("--section", section)]
    if extra := extra_metrics(job.profiler):
        options += ["--metrics", ",".join(extra)]
    if job.backend == "cuda":
        options += ["--launch-skip", "1", "--launch-count", "1"]
        target = [launcher, str(job.given), "--profiled"]
    else:
        options += ["--profile-from-start", "off", "--launch-count", str(KERNELS_MAX)]
        target = [
            sys.executable,
            str(Path(__file__).with_name("profiled_program.py")),
            json.dumps(job.as_strings()),
            runtime,
        ]
    ended = subprocess.run([job.profiler, *options, *target], pass_fds=[CHANNEL_FD], check=False)
    kernels, message = read(job, report) if report.exists() else ([], "")
    if not kernels:
        message = first_error(log) or message or f"ncu ended with {ended.returncode} and saw no kernel"
    summary = {"tool": version(job.profiler), "message": message[:TEXT_MAX], "kernels": kernels}
    (job.out / "metrics.json").write_text(json.dumps(summary))
    return 0


def extra_metrics(profiler: str) -> list[str]:
    """Returns the metrics that no section has, as far as this ncu knows them for this GPU. ncu profiles nothing if it
    is asked for an unknown metric.
    """
    output = subprocess.run(
        [profiler, "--query-metrics"], capture_output=True, text=True, check=False, timeout=READ_LIMIT_S
    ).stdout
    known = {line.split()[0] for line in output.splitlines() if line.strip()}
    return [metric for metric in ncu_metrics.EXTRA_METRICS if metric.partition(".")[0] in known]


def read(job: Job, report: Path) -> tuple[list[ncu_metrics.Kernel], str]:
    """Lets ncu read its own report. Returns the kernels, and a message if the report cannot be read."""
    try:
        for name, page in (
            ("details.txt", ["--page", "details"]),
            ("metrics.csv", ["--page", "raw", "--csv", "--print-units", "base"]),
        ):
            with (job.out / name).open("wb") as out:
                subprocess.run(
                    [job.profiler, "--import", str(report), *page], stdout=out, check=True, timeout=READ_LIMIT_S
                )
        with (job.out / "metrics.csv").open(newline="", errors="replace") as rows:
            return ncu_metrics.kernels_of(csv.reader(rows))[:KERNELS_MAX], ""
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        return [], f"ncu's report cannot be read: {error}"


def first_error(log: Path) -> str:
    """Returns ncu's first error, such as "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access
    NVIDIA GPU Performance Counters ...", without its mark; empty if there is none.
    """
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return next((line.removeprefix("==ERROR==").strip() for line in lines if line.startswith("==ERROR==")), "")


def version(profiler: str) -> str:
    """Returns "ncu 2025.3.1.0"."""
    output = subprocess.run(
        [profiler, "--version"], capture_output=True, text=True, check=False, timeout=READ_LIMIT_S
    ).stdout
    words = next((line.split() for line in output.splitlines() if line.startswith("Version ")), [])
    return f"ncu {words[1]}" if len(words) > 1 else "ncu"
