"""A child of the zygote, from its fork to its end.

A child is two processes, as gpu_worker/child/sandbox/sandbox.h describes. Process B, forked by the zygote, builds the
sandbox, forks process C and supervises it. Process C runs the job. Both report to the zygote through the lifeline, a
socket whose other end only the zygote holds:

    C: "in uid,user"       the layers of the sandbox that stands; the job begins
    B or C: "error TEXT"   the sandbox could not be built, and no job begins
    B: "exit 9"            the wait status of process C

What process C then does depends on the role of its order: it waits for a job (preforked.py), builds (BUILDS), runs a
profiler or the problem's own program, makes the code that children with a GPU begin with, or becomes kq-launcher.
"""

import contextlib
import faulthandler
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
from harness.eval_program import eval_child
from harness.extensions import compile_child
from harness.kernels import build_child, driver_cache
from harness.profiling import profile_child
from harness.sandbox import environment, mount_view
from harness.sandbox.sandbox import Sandbox

RECORD = "record"

# The functions of the build lane's children, by role. They have no GPU, and a folder for what they make. One of them
# waits for a job, and has a channel for that.
BUILDS: dict[str, Callable[[Job], int]] = {
    "build": build_child.run,
    "ready_build": build_child.wait_and_run,
    RECORD: build_child.trace,
    "compile": compile_child.main,
}

PROFILE = "profile"
EVAL_PROGRAM = "eval_program"
DRIVER_CACHE = "driver_cache"

# The numbers of a child's other descriptors.
LIFELINE_FD = 4
AUDIT_FD = 5  # in an audited child; only process C keeps it

# The program that a child becomes where it launches device code: gpu_worker/child/launcher.
LAUNCHER = "kq-launcher"

EXIT_BROKEN = 70  # the harness itself failed; the log has the error


class Child:
    def __init__(self, order: dict[str, Any], runtime: ChildRuntime, wanted: int, cores: Set[int]) -> None:
        self.order = order
        self.cores = cores  # empty: all cores
        self.runtime = runtime
        self.directory = Path(order["dir"])
        self.role: str = order["role"]
        self.sandbox = Sandbox(
            runtime, order["uid"], wanted, order["host_bytes"], self.mount_plan(), order["device_count"]
        )
        self.lifeline: socket.socket

    def mount_plan(self) -> str:
        return mount_view.mount_plan(
            self.directory,
            self.order["scratch_bytes"],
            self.runtime.path,
            gpu=self.order["device"] == "cuda" and self.role not in BUILDS,
            keeps_root=os.geteuid() == 0 and self.order["uid"] == 0,
            has_out=self.role in BUILDS or self.role in (PROFILE, EVAL_PROGRAM, DRIVER_CACHE),
            has_copy=self.has_copy,
            shared=self.order.get("shared", ""),
            profiler=self.order.get("profiler", ""),
            gpus=self.order["gpus"],
            device_count=self.order["device_count"],
        )

    @property
    def has_copy(self) -> bool:
        """Returns whether code of a job runs in this child's Python, and sees a copy of the job's files."""
        return self.role not in BUILDS or self.role == RECORD

    def fork(self) -> int:
        """Forks as os.fork() does. In process B, run() must be called next."""
        return self.sandbox.fork()

    def run(
        self, join: Callable[[], None], log: int, channel: int | None, lifeline: int, audit: int | None
    ) -> NoReturn:
        """Runs process B, which enters its control group, and process C. Never returns into the code of the zygote."""
        try:
            install_descriptors(log, channel, lifeline, audit)
            self.lifeline = socket.socket(fileno=LIFELINE_FD)
            join()
            if self.cores:
                with contextlib.suppress(OSError):  # where none of them is left to the worker, all are used
                    os.sched_setaffinity(0, self.cores)
            self.sandbox.enter()
            c = os.fork()
            if c == 0:
                self.run_job()
            # The log pipe must end with the job, and the judge must see the channel close, so process B closes both.
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
                mount_view.GIVEN if self.has_copy else None,
            )
        else:
            given, work = self.directory / "src", self.directory / "work"
            job = Job.from_order(
                self.order,
                work / "src" if self.has_copy else given,
                work,
                self.directory / "out",
                Path(self.order["shared"]) if self.order.get("shared") else None,
                given,
            )
        os.umask(0o022)
        os.chdir(job.work)
        gpus = {"CUDA_VISIBLE_DEVICES": self.order["gpus"]} if self.order["gpus"] else {}
        environment.apply(environment.child_environment(job.work) | gpus)
        # Output is written line by line, so that a child that is killed loses at most its last line.
        sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        self.tell_zygote(f"in {self.sandbox.layer_names()}")
        self.lifeline.close()
        # A crash leaves the line of Python in the log, where the worker finds it.
        faulthandler.enable(2, all_threads=False)
        # From here on code of the job runs, if the role has a job.
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
    """Does what the role of the job says, and returns the exit code."""
    sys.dont_write_bytecode = True
    if job.role in BUILDS:
        return BUILDS[job.role](job)
    if job.role == DRIVER_CACHE:
        return driver_cache.fill(job)
    if job.on_gpu or job.shared is not None:
        driver_cache.begin(job.shared)
    if job.role == EVAL_PROGRAM:
        return eval_child.run(job)
    launcher = Path(runtime.path).parent / LAUNCHER
    if job.role == PROFILE:
        return profile_child.run(job, runtime.path, str(launcher))
    if job.backend == "cuda" and job.on_gpu:
        os.execv(launcher, [LAUNCHER, str(job.given)])
    preforked.serve(job, socket.socket(fileno=CHANNEL_FD), runtime, AUDIT_FD if job.audit else None)
    return 0


def install_descriptors(log: int, channel: int | None, lifeline: int, audit: int | None) -> None:
    """Gives the process exactly the descriptors that a child has, at their numbers, and closes all others."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    null = os.open("/dev/null", os.O_RDWR)
    # The zygote uses the numbers 0 to 4 itself, so each received descriptor has a number above those it is copied to.
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(null if channel is None else channel, CHANNEL_FD)
    os.dup2(lifeline, LIFELINE_FD)
    if audit is not None:
        os.dup2(audit, AUDIT_FD)
    os.closerange(AUDIT_FD + (audit is not None), os.sysconf("SC_OPEN_MAX"))
