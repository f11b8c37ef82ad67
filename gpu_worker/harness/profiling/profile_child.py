"""The profile child: a submission's child like any other, behind the same walls, but that NVIDIA's ncu starts it.

The profiler runs inside, and so does what reads its report afterwards: who is profiled can write anything into it. It leaves in out/:

    report.ncu-rep   for ncu-ui
    details.txt      the same in words
    metrics.csv      the same as ncu's "raw" page, in base units
    metrics.json     {"tool": "ncu 2025.3.1.0", "message": "", "kernels": [{"kernel": NAME, "metrics": {"GROUP.KEY": 1.5}}]} (profile_metrics.py)
    profiler.log     what ncu itself said

The second call is looked at: the first one compiles, tunes and loads (profiled.py). A launcher launches nothing but the kernel, once in a call.
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

KERNELS_MAX = 10  # core/result.h
# What profile_metrics.py takes, and what a person wants beside it. ncu's "full" set has megabytes of samples besides.
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
        target = [launcher, str(job.source), "--profiled"]
    else:
        options += ["--profile-from-start", "off", "--launch-count", str(KERNELS_MAX)]
        target = [
            sys.executable,
            str(Path(__file__).with_name("profiled_program.py")),
            json.dumps(job.words()),
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
    """What no section has, as far as this ncu knows it of this GPU: it profiles nothing where it is asked for a metric that there is not."""
    output = subprocess.run(
        [profiler, "--query-metrics"], capture_output=True, text=True, check=False, timeout=READ_LIMIT_S
    ).stdout
    known = {line.split()[0] for line in output.splitlines() if line.strip()}
    return [metric for metric in ncu_metrics.EXTRA_METRICS if metric.partition(".")[0] in known]


def read(job: Job, report: Path) -> tuple[list[ncu_metrics.Kernel], str]:
    """What ncu makes of its own report."""
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
    """ncu's first own error: "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters ..."."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return next((line.removeprefix("==ERROR==").strip() for line in lines if line.startswith("==ERROR==")), "")


def version(profiler: str) -> str:
    """ "ncu 2025.3.1.0"."""
    output = subprocess.run(
        [profiler, "--version"], capture_output=True, text=True, check=False, timeout=READ_LIMIT_S
    ).stdout
    words = next((line.split() for line in output.splitlines() if line.startswith("Version ")), [])
    return f"ncu {words[1]}" if len(words) > 1 else "ncu"
