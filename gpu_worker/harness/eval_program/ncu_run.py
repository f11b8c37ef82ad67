"""Profiles a run of an eval program with NVIDIA's ncu.

A program that is made for that puts the call of the submission into the NVTX range "custom_kernel". ncu profiles up to
ten kernels inside of it, with all its sections. The tables of its report that are short enough to read become the
benchmark's report. Program, profiler and the reader of its report share the sandbox with the submission, which can
write all of this.

The files of a profile are left in out/, as profiling/profile_child.py does:

    report.ncu-rep, report.1.ncu-rep, ...   of each benchmark, for ncu-ui
    metrics.json                            the figures of the first kernels, each named with its benchmark
    profiler.log                            what ncu itself prints in the last run
"""

import csv
import io
import json
import subprocess
from pathlib import Path

from harness.children.job import Job
from harness.children.page import TEXT_MAX
from harness.profiling import ncu_metrics, profile_child

KERNELS_MAX = profile_child.KERNELS_MAX
RANGE = "custom_kernel/"  # a range that is pushed and popped, in the words of ncu
TABLES = ("GPU Throughput", "Pipe Utilization (% of active cycles)", "Warp State (All Cycles)")
KERNELS_SHOWN = 2
LINES_MAX = 100  # of the report of one benchmark
READ_LIMIT_S = 60.0


class Profiler:
    """ncu, and what it has seen of the benchmarks so far."""

    def __init__(self, command: str, out: Path) -> None:
        self._command = command
        self._out = out
        self._kernels: list[ncu_metrics.Kernel] = []
        self._message = ""

    def words(self, benchmark: int) -> list[str]:
        """Returns the words before those of a program that lets ncu profile it."""
        options = ["--set", "full", "--import-source", "1", "--nvtx", "--nvtx-include", RANGE]
        options += ["--launch-count", str(KERNELS_MAX), "--clock-control", "none", "--target-processes", "all"]
        options += ["--log-file", str(self._log), "--force-overwrite", "--export", str(self._report(benchmark))]
        return [self._command, *options]

    def tables(self, benchmark: int, name: str) -> str:
        """Reads ncu's report of a benchmark that was run. Returns its tables; empty if there is no report."""
        report = self._report(benchmark)
        try:
            if not report.exists():
                raise ValueError(profile_child.first_error(self._log) or f"ncu saw no kernel in the range {RANGE[:-1]}")
            raw = self._ask("--import", str(report), "--page", "raw", "--csv", "--print-units", "base")
            for kernel in ncu_metrics.kernels_of(csv.reader(io.StringIO(raw))):
                self._kernels.append({**kernel, "kernel": f"{name}: {kernel['kernel']}"})
            return tables_in(self._ask("--import", str(report), "--page", "details", "--print-details", "body"))
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            self._message = self._message or f"{name}: {error}"
            return ""

    def leave_metrics(self, message: str = "") -> None:
        """Writes metrics.json, with a message that says why there are no figures, or with that of tables()."""
        summary = {
            "tool": profile_child.version(self._command),
            "message": (message or self._message)[:TEXT_MAX],
            "kernels": self._kernels[:KERNELS_MAX],
        }
        (self._out / "metrics.json").write_text(json.dumps(summary))

    def _report(self, benchmark: int) -> Path:
        return self._out / ("report.ncu-rep" if benchmark == 0 else f"report.{benchmark}.ncu-rep")

    @property
    def _log(self) -> Path:
        return self._out / "profiler.log"

    def _ask(self, *words: str) -> str:
        return subprocess.run(
            [self._command, *words],
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
            timeout=READ_LIMIT_S,
        ).stdout


def profiler_for(files: dict[str, str | None], job: Job) -> Profiler | None:
    """Returns the profiler for a problem with these files; None if there is no ncu or GPU, if the job has several GPUs,
    or if no file but the submission, which has no text here, uses NVTX. Of a program without NVTX ncu would see
    nothing, and would keep torch's profiler, which it calls, from seeing the GPU. On several GPUs ncu would run a
    kernel alone that waits for another GPU's.
    """
    if not job.on_gpu or not job.profiler:
        return None
    profiler = Profiler(job.profiler, job.out)
    if job.device_count > 1:
        profiler.leave_metrics("ncu cannot profile kernels that wait for one another on several GPUs")
        return None
    if any("nvtx" in text for text in files.values() if text is not None):
        return profiler
    profiler.leave_metrics("the program marks no NVTX range, so ncu was not used; the log has the program's own report")
    return None


def tables_in(details: str) -> str:
    """Returns TABLES of the first kernels of a report as text. In ncu's text a kernel's line begins after two spaces,
    and a table ends with an empty line.
    """
    lines: list[str] = []
    kernels, is_wanted = 0, False
    for line in details.splitlines():
        if len(line) > 2 and line.startswith("  ") and line[2] != " ":
            kernels += 1
            if kernels > KERNELS_SHOWN:
                lines.append("further kernels are in the report")
                break
            lines.append(line.strip())
        _, is_table, title = line.partition("Table Name : ")
        if is_table:
            is_wanted = title.strip() in TABLES
        is_wanted = is_wanted and bool(line.strip())
        if is_wanted:
            lines.append(line)
    return "\n".join(lines[:LINES_MAX])
