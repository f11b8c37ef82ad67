"""What the broker keeps and gives back: the words of core/records.h, result.h, device.h and leaderboard.h."""

from __future__ import annotations

from dataclasses import dataclass, field

from kq.records.hash import NO_HASH, Hash
from kq.records.submission import Backend, DeviceWish, Priority, Submission
from kq.records.text_enum import TextEnum
from kq.records.verdict import Verdict


class JobState(TextEnum):
    QUEUED = "queued"
    LEASED = "leased"
    FINISHED = "finished"


class DeviceKind(TextEnum):
    CPU = "cpu"
    CUDA = "cuda"


@dataclass(frozen=True)
class DeviceInfo:
    kind: DeviceKind = DeviceKind.CPU
    model: str = ""
    uuid: str = ""
    arch: str = ""
    memory_bytes: int = 0


@dataclass(frozen=True)
class StageTimes:
    build_ms: int = 0
    build_cached: bool = False
    run_ms: int = 0
    trials_us: int = 0  # of that, from the first trial to the end of the last


@dataclass(frozen=True)
class Software:
    kq: str = ""
    python: str = ""
    torch: str = ""
    triton: str = ""
    cuda: str = ""
    evaluator: str = ""
    packages: str = ""  # SHA-256 of their names and versions


@dataclass(frozen=True)
class Host:
    """The machine and how its worker came to run there."""

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
    pid: int = 0
    memory_mib: int = 0


@dataclass(frozen=True)
class Conditions:
    """How a GPU ran right after the trials, as its driver says: what is 0 or empty it does not tell."""

    sm_clock_mhz: int = 0
    memory_clock_mhz: int = 0
    temperature_c: int = 0
    power_w: float = 0
    throttle: str = ""  # "none", "sw_power_cap,hw_thermal_slowdown"
    foreign: list[GpuProcess] | None = None  # other users' processes on it


@dataclass(frozen=True)
class ProfileMetric:
    """One figure of a profiler: "speed_of_light.sm_throughput_pct"."""

    name: str = ""
    value: float = 0


@dataclass(frozen=True)
class KernelProfile:
    kernel: str = ""
    metrics: list[ProfileMetric] = field(default_factory=list)


@dataclass(frozen=True)
class Profile:
    """What came of the profiler that a submission asked for, in a pass of its own after the timing."""

    tool: str = ""  # "ncu 2025.3.1.0"
    directory: str = ""  # of its files, on the worker's machine
    message: str = ""  # why there is less than was asked for
    ms: int = 0
    kernels: list[KernelProfile] = field(default_factory=list)


@dataclass(frozen=True)
class Toolchain:
    """What compiled the kernel; empty where nothing was compiled."""

    compiler: str = ""
    flags: str = ""


@dataclass(frozen=True)
class Samples:
    """Raw samples of the judge's clock, in schedule order."""

    submission_ns: list[int] = field(default_factory=list)
    reference_ns: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Result:
    verdict: Verdict = field(default_factory=Verdict)
    device: DeviceInfo = field(default_factory=DeviceInfo)
    worker: str = ""
    times: StageTimes = field(default_factory=StageTimes)
    software: Software = field(default_factory=Software)
    sandbox: str = ""
    log: str = ""  # what the kernel printed: untrusted; bytes that are not UTF-8 are shown as U+FFFD
    samples: Samples = field(default_factory=Samples)
    toolchain: Toolchain = field(default_factory=Toolchain)
    host: Host = field(default_factory=Host)
    conditions: Conditions | None = None  # of a GPU that is watched
    profile: Profile | None = None  # of a passed one that asked for it


@dataclass(frozen=True)
class Requirements:
    """What a job asks of a worker and its device."""

    wish: DeviceWish = DeviceWish.ANY
    gpu_model: str = ""
    memory_above_bytes: int = 0
    backend: Backend = Backend.TORCH
    labels: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class JobRecord:
    seq: int = 0
    key: Hash = NO_HASH
    state: JobState = JobState.QUEUED
    attempt: int = 0
    failures: int = 0
    submitted_at_ms: int = 0  # Unix time
    leased_at_ms: int = 0
    finished_at_ms: int = 0
    last_error: str = ""
    submitter: str = ""  # whose share and quota it counts against
    run: str = ""  # that asked for it last
    priority: Priority = Priority.NORMAL
    needs: Requirements = field(default_factory=Requirements)
    problem: Hash = NO_HASH
    not_before_ms: int = 0
    deadline_ms: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class RunEntry:
    seq: int = 0
    submission: Submission = field(default_factory=Submission)


@dataclass(frozen=True)
class RunRow:
    """One label of a run with its job, and its result once that is finished."""

    run: str = ""
    entry: RunEntry = field(default_factory=RunEntry)
    job: JobRecord = field(default_factory=JobRecord)
    result: Result | None = None

    @property
    def label(self) -> str:
        return self.entry.submission.label

    @property
    def verdict(self) -> Verdict | None:
        return self.result.verdict if self.result else None


@dataclass(frozen=True)
class LeaderboardRow:
    """The best passed job of one problem on one device model."""

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
