"""The records that the broker stores and returns: jobs, results, devices, rows of runs and of the leaderboard.

The Python twin of core/records.h, core/result.h, core/device.h and core/leaderboard.h.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from kq.records.hash import NO_HASH, Hash
from kq.records.submission import Backend, Baseline, DeviceWish, Graphs, Priority, Streams, Submission
from kq.records.text_enum import TextEnum
from kq.records.text_safety import one_line
from kq.records.verdict import Verdict


def speedup_text(speedup: float) -> str:
    """Returns a speedup such as "1.50x", or "0.00077x" for one that two places behind the point would show as 0."""
    return f"{speedup:.2g}x" if 0 < speedup < 0.01 else f"{speedup:.2f}x"


class JobState(TextEnum):
    """The state of a job in the broker's queue."""

    QUEUED = "queued"
    LEASED = "leased"
    FINISHED = "finished"


class DeviceKind(TextEnum):
    """The kind of a device."""

    CPU = "cpu"
    CUDA = "cuda"


@dataclass(frozen=True)
class DeviceInfo:
    """A device of a worker."""

    kind: DeviceKind = DeviceKind.CPU
    model: str = ""
    uuid: str = ""
    arch: str = ""
    memory_bytes: int = 0
    device_count: int = 1  # the number of GPUs of a lane; the other fields describe its first GPU


@dataclass(frozen=True)
class StageTimes:
    """How long the stages of an evaluation took."""

    build_ms: int = 0
    build_cached: bool = False
    run_ms: int = 0
    trials_us: int = 0  # the part of run_ms from the start of the first trial to the end of the last


@dataclass(frozen=True)
class Software:
    """The versions of the software that evaluated a job."""

    kq: str = ""
    python: str = ""
    torch: str = ""
    triton: str = ""
    cuda: str = ""
    evaluator: str = ""
    packages: str = ""  # SHA-256 of the names and versions of all Python packages


@dataclass(frozen=True)
class Host:
    """The machine that evaluated a job, and the container and scheduler that its worker runs under."""

    name: str = ""
    cpu: str = ""
    cores: int = 0
    governor: str = ""
    kernel: str = ""
    distro: str = ""
    libc: str = ""
    driver: str = ""
    container: str = ""
    scheduler: str = ""
    scheduled_as: str = ""


@dataclass(frozen=True)
class GpuProcess:
    """A process that uses a GPU."""

    pid: int = 0
    memory_mib: int = 0


@dataclass(frozen=True)
class Conditions:
    """The driver's readings of a GPU directly after the trials.

    A value that the driver does not report is 0 or empty.
    """

    sm_clock_mhz: int = 0
    memory_clock_mhz: int = 0
    temperature_c: int = 0
    power_w: float = 0
    throttle: str = ""  # "none", "sw_power_cap,hw_thermal_slowdown"
    foreign: list[GpuProcess] | None = None  # processes of other users on the GPU


@dataclass(frozen=True)
class ProfileMetric:
    """One figure of a profiler, with a name such as "speed_of_light.sm_throughput_pct"."""

    name: str = ""
    value: float = 0


@dataclass(frozen=True)
class KernelProfile:
    """The profiler's figures for one kernel."""

    kernel: str = ""
    metrics: list[ProfileMetric] = field(default_factory=list)


@dataclass(frozen=True)
class Profile:
    """The result of the profiler that a submission asked for. The profiler runs in a separate pass after the timing."""

    tool: str = ""  # name and version, such as "ncu 2025.3.1.0"
    directory: str = ""  # the directory of the profiler's files on the worker's machine
    message: str = ""  # why the profile is incomplete or missing
    ms: int = 0
    kernels: list[KernelProfile] = field(default_factory=list)


@dataclass(frozen=True)
class FailedExtension:
    """A call of load_inline or load that does not compile."""

    name: str = ""
    error: str = ""  # the first error with its place


@dataclass(frozen=True)
class Extensions:
    """The calls of load_inline and load that a submission makes."""

    calls: int = 0
    compiled: int = 0
    failed: list[FailedExtension] = field(default_factory=list)
    fell_back: bool = False  # the submission catches the error of a failed call and goes on without the extension


class KernelOwner(TextEnum):
    """Whose a kernel is: the submission's own, that of a library, or that of torch and torch.compile."""

    SUBMISSION = "submission"
    LIBRARY = "library"
    TORCH = "torch"


@dataclass(frozen=True)
class RanKernel:
    """A kernel that the GPU ran in calls that CUPTI watched."""

    name: str = ""
    owner: KernelOwner = KernelOwner.SUBMISSION
    count: int = 0  # launches in all watched calls
    ns: int = 0  # their time on the GPU


@dataclass(frozen=True)
class KernelsRan:
    """The kernels that the GPU ran for a submission, in untimed calls at random places among the trials."""

    calls: int = 0
    kernels: list[RanKernel] = field(default_factory=list)  # those with the most time first
    left_out: int = 0  # further kernels
    own_share: float | None = None  # the part of the time that the submission's own kernels took
    decoy: bool = False  # the submission's files have kernels, but none of them ran
    own_wanted: bool = False  # the problem asks for kernels of the submission's own


@dataclass(frozen=True)
class ReviewFinding:
    """What the guard found for review, which changes no verdict: a rule with its first place."""

    rule: str = ""
    place: str = ""  # "relu.py:12"


@dataclass(frozen=True)
class Toolchain:
    """The compiler and flags that built the kernel; both are empty if nothing was compiled."""

    compiler: str = ""
    flags: str = ""


@dataclass(frozen=True)
class Samples:
    """The raw samples of the judge's clock, in the order in which the calls were scheduled."""

    submission_ns: list[int] = field(default_factory=list)
    reference_ns: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class CaseResult:
    """The outcome of one workload of a job."""

    workload: str = ""  # its name
    weight: float = 1.0  # of its time in the job's time
    verdict: Verdict = field(default_factory=Verdict)
    samples: Samples = field(default_factory=Samples)  # only if the verdict is measured


@dataclass(frozen=True)
class ProblemWarning:
    """Something that a problem cannot tell from a right kernel."""

    name: str = ""  # inputs, zeros, constant or first_input
    message: str = ""  # one sentence


@dataclass(frozen=True)
class Result:
    """The result of one finished job."""

    verdict: Verdict = field(default_factory=Verdict)
    device: DeviceInfo = field(default_factory=DeviceInfo)
    worker: str = ""
    times: StageTimes = field(default_factory=StageTimes)
    software: Software = field(default_factory=Software)
    sandbox: str = ""
    log: str = ""  # the kernel's output, which is untrusted; bytes that are not UTF-8 appear as U+FFFD
    samples: Samples = field(default_factory=Samples)
    toolchain: Toolchain = field(default_factory=Toolchain)
    host: Host = field(default_factory=Host)
    conditions: Conditions | None = None  # only if the worker monitors the GPU
    profile: Profile | None = None  # only for a passed job whose submission asked for a profiler
    extensions: Extensions | None = None  # only for a submission that calls load_inline or load
    cases: list[CaseResult] = field(default_factory=list)  # only if the problem has several workloads
    problem_warnings: list[ProblemWarning] = field(default_factory=list)
    kernels_ran: KernelsRan | None = None  # only on a GPU where CUPTI watched a call
    findings: list[ReviewFinding] = field(default_factory=list)  # of the guard, one for each rule


@dataclass(frozen=True)
class Requirements:
    """What a job requires of a worker and its device."""

    wish: DeviceWish = DeviceWish.ANY
    gpu_model: str = ""
    memory_above_bytes: int = 0
    backend: Backend = Backend.TORCH
    labels: list[str] = field(default_factory=list)
    device_count: int = 1


@dataclass(frozen=True)
class JobRecord:
    """A job as the broker stores it."""

    seq: int = 0
    key: Hash = NO_HASH
    state: JobState = JobState.QUEUED
    attempt: int = 0
    failures: int = 0
    submitted_at_ms: int = 0  # Unix time
    leased_at_ms: int = 0
    finished_at_ms: int = 0
    last_error: str = ""
    submitter: str = ""  # the submitter whose share and quota the job uses
    run: str = ""  # the run that submitted the job last
    priority: Priority = Priority.NORMAL
    needs: Requirements = field(default_factory=Requirements)
    problem: Hash = NO_HASH
    not_before_ms: int = 0
    deadline_ms: int = 0
    bytes: int = 0
    first_submitter: str = ""  # the submitter of the job's first submission; empty: `submitter`
    also_for: list[str] = field(default_factory=list)  # other submitters of the same work, while it is unfinished


@dataclass(frozen=True)
class RunEntry:
    """One label of a run: the submission and the number of its job."""

    seq: int = 0
    submission: Submission = field(default_factory=Submission)
    submitter: str = ""  # the submitter of this row, as its key proves it; empty where unknown


@dataclass(frozen=True)
class KernelRun:
    """One job of a kernel on a board."""

    seq: int = 0
    median_ns: float = 0
    reference_ns: float = 0
    noise_ns: float = 0
    reference_noise_ns: float = 0


REPR_TEXT_MAX = 160  # characters of a message in the repr of a row


@dataclass(frozen=True, repr=False)
class RunRow:
    """One label of a run with its job, and with the job's result once the job is finished."""

    run: str = ""
    entry: RunEntry = field(default_factory=RunEntry)
    job: JobRecord = field(default_factory=JobRecord)
    result: Result | None = None
    reruns: list[KernelRun] = field(default_factory=list)  # former jobs of this kernel in this run, where asked for

    @property
    def label(self) -> str:
        return self.entry.submission.label

    @property
    def verdict(self) -> Verdict | None:
        return self.result.verdict if self.result else None

    def __repr__(self) -> str:
        """One line: the names, the verdict, and the speedup or what went wrong. The fields have everything."""
        ended, told = self.job.state.value, ""
        if self.verdict is not None:
            ended = self.verdict.name.value
            if self.verdict.measurement is not None and self.verdict.measurement.speedup:
                told = speedup_text(self.verdict.measurement.speedup)
            elif self.verdict.evidence is not None:
                told = self.verdict.evidence.message
        told = one_line(told, REPR_TEXT_MAX)
        return f"<RunRow {self.label!r} of run {self.run!r}, job {self.entry.seq}: {ended}{told and ', ' + told}>"


@dataclass(frozen=True, repr=False)
class LeaderboardRow:
    """The kernel in the first place for one problem on one device model. Its times are medians over its runs."""

    problem: str = ""
    problem_hash: Hash = NO_HASH
    device_model: str = ""
    seq: int = 0
    label: str = ""
    author: str = ""
    backend: str = ""
    median_ns: float = 0
    reference_ns: float = 0
    speedup: float = 0
    finished_at_ms: int = 0
    fell_back: bool = False  # an extension does not compile, so the time is that of the submission's fallback
    submitter: str = ""  # as the key proves it, unlike the author
    decoy: bool = False  # the submission has kernels, but none of them ran
    streams: Streams = Streams.REJECT
    graphs: Graphs = Graphs.REJECT
    findings: bool = False  # the guard has found something in the submission for review
    kernel_hash: Hash = NO_HASH
    baseline: Baseline = Baseline.EAGER
    noise_ns: float = 0  # times that differ by less are equal; 0 if it is unknown
    reference_noise_ns: float = 0
    sample_count: int = 0  # of the submission, over all runs
    is_noisy: bool = False  # one of the runs was measured on a busy machine
    runs: list[KernelRun] = field(default_factory=list)

    @property
    def speedup_noise(self) -> float:
        """The noise of the speedup; 0 if it is unknown."""
        if self.median_ns <= 0 or self.reference_ns <= 0 or self.noise_ns <= 0:
            return 0.0
        return self.speedup * math.hypot(self.noise_ns / self.median_ns, self.reference_noise_ns / self.reference_ns)

    def __repr__(self) -> str:
        """One line: the problem, the device, the kernel and its speedup. The fields have everything."""
        return (
            f"<LeaderboardRow {self.problem!r} on {self.device_model!r}: {self.label!r}, "
            f"{speedup_text(self.speedup) if self.speedup > 0 else 'no speedup'}>"
        )
