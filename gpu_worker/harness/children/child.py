"""A child of the zygote: its two processes from the fork to the end, as gpu_worker/child/sandbox/sandbox.h describes them.

B, forked by the zygote, builds the walls, forks C and supervises it. C runs the job. What they tell the zygote goes through the lifeline, a
socket whose other end only the zygote holds:

    C: "in uid,user"    the sandbox stands, the job begins; or "error SENTENCE", from either, and nothing begins
    B: "exit 9"         how C ended
"""

import os
import signal
import socket
import sys
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any, NoReturn

from harness.children import preforked
from harness.children.channel import CHANNEL_FD
from harness.children.job import Job
from harness.children.runtime import ChildRuntime
from harness.extensions import compile_child
from harness.kernels import build_child
from harness.profiling import profile_child
from harness.sandbox.sandbox import environment, mount_view
from harness.sandbox.sandbox import Sandbox

# The children of the build lane: no GPU, and a directory for what they make; a channel where they wait for a job.
BUILDS: dict[str, Callable[[Job], int]] = {
    "build": build_child.run,
    "ready_build": build_child.wait_and_run,
    "record": build_child.trace,
    "compile": compile_child.main,
}

PROFILE = "profile"

# Where a child has its other descriptors.
LIFELINE_FD = 4
AUDIT_FD = 5  # of an audited one; C alone keeps it

# Takes Python's place where device code is to be launched: gpu_worker/launcher.
LAUNCHER = "kq-launcher"

EXIT_BROKEN = 70  # our own code failed; the log says how


class Child:
    def __init__(self, order: dict[str, Any], runtime: ChildRuntime, wanted: int, cores: Set[int]) -> None:
        self.order = order
        self.cores = cores  # none: all of them
        self.runtime = runtime
        self.directory = Path(order["dir"])
        self.role: str = order["role"]
        self.sandbox = Sandbox(runtime, order["uid"], wanted, order["host_bytes"], self.mount_plan())
        self.lifeline: socket.socket

    def mount_plan(self) -> str:
        return mount_view.mount_plan(
            self.directory,
            self.order["scratch_bytes"],
            self.runtime.path,
            gpu=self.order["device"] == "cuda" and self.role not in BUILDS,
            keeps_root=os.geteuid() == 0 and self.order["uid"] == 0,
            has_out=self.role in BUILDS or self.role == PROFILE,
            shared=self.order.get("shared", ""),
            profiler=self.order.get("profiler", ""),
        )

    def fork(self) -> int:
        """As os.fork(). In B, run() comes next."""
        return self.sandbox.fork()

    def run(
        self, join: Callable[[], None], log: int, channel: int | None, lifeline: int, audit: int | None
    ) -> NoReturn:
        """All of process B, which joins its control group, and of its fork. Never returns into the zygote's code."""
        try:
            install_descriptors(log, channel, lifeline, audit)
            self.lifeline = socket.socket(fileno=LIFELINE_FD)
            join()
            if self.cores and self.role not in BUILDS:
                os.sched_setaffinity(0, self.cores)
            self.sandbox.enter()
            c = os.fork()
            if c == 0:
                self.run_job()
            # The log ends with the job, and the judge sees the channel close: B must hold neither.
            os.closerange(0, LIFELINE_FD)
            os.closerange(AUDIT_FD, AUDIT_FD + 1)
            self.runtime.supervise(LIFELINE_FD, c)
        except BaseException as error:
            self.tell_zygote(f"error {error}")
        finally:
            os._exit(0)

    def run_job(self) -> NoReturn:
        self.sandbox.confine()
        os.setsid()
        if self.sandbox.has_view:
            job = Job.from_order(
                self.order,
                mount_view.SOURCE,
                mount_view.WORK,
                mount_view.OUT,
                mount_view.SHARED if self.order.get("shared") else None,
            )
        else:
            job = Job.from_order(
                self.order,
                self.directory / "src",
                self.directory / "work",
                self.directory / "out",
                Path(self.order["shared"]) if self.order.get("shared") else None,
            )
        os.umask(0o022)
        os.chdir(job.work)
        environment.apply(environment.child_environment(job.work))
        # What is printed arrives line by line: a child that is killed loses no more than its last one.
        sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        self.tell_zygote(f"in {self.sandbox.words()}")
        self.lifeline.close()
        # From here on code of the job runs.
        code = EXIT_BROKEN
        try:
            code = run_role(job, self.runtime)
        except BaseException as error:
            print(f"kq: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)

    def tell_zygote(self, word: str) -> None:
        try:
            self.lifeline.send(word.encode()[:512])
        except OSError:
            os._exit(0)  # the zygote is gone


def run_role(job: Job, runtime: ChildRuntime) -> int:
    """The job itself; the exit code."""
    sys.dont_write_bytecode = True
    if job.role in BUILDS:
        return BUILDS[job.role](job)
    launcher = Path(runtime.path).parent / LAUNCHER
    if job.role == PROFILE:
        return profile_child.run(job, runtime.path, str(launcher))
    if job.backend == "cuda" and job.on_gpu:
        os.execv(launcher, [LAUNCHER, str(job.source)])
    preforked.serve(job, socket.socket(fileno=CHANNEL_FD), runtime, AUDIT_FD if job.audit else None)
    return 0


def install_descriptors(log: int, channel: int | None, lifeline: int, audit: int | None) -> None:
    """Only what a child is meant to have, and at the numbers where it looks for it."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    null = os.open("/dev/null", os.O_RDWR)
    # The numbers received are above those wanted: the zygote itself has 0 to 4 in use.
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(null if channel is None else channel, CHANNEL_FD)
    os.dup2(lifeline, LIFELINE_FD)
    if audit is not None:
        os.dup2(audit, AUDIT_FD)
    os.closerange(AUDIT_FD + (audit is not None), os.sysconf("SC_OPEN_MAX"))
