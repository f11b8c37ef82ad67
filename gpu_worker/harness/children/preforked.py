"""The pre-forked child: a child that has initialised CUDA and waits for a job.

Its protocol through the channel, before the judge uses the channel:

    child -> control    b"asks"     the child is about to make its context, and waits
    control -> child    b"go"       the child may do so
    child -> control    b"offers"   the next part of the warm-up would disturb a measurement, and a job can do without
                                    it; the child waits
    control -> child    b"go" or    the child may begin that part
                        b"skip"     the child leaves out that part and later ones: a job needs it now, or calls are
                                    timed for long, or the host has little memory
    child -> control    b"warm"     the warm-up is done
    child -> control    b"cold"     the warm-up failed, or the device's memory is full; the child answers the first
                                    command with the error
    control -> child    a packet    the assignment; the job's files are then in src/

An assignment looks like this:

    {"role": "submission", "backend": "triton", "entry": "add.py", "problem": "relu.py", "precision": "as_given"}

From the assignment on the child is a reference, a submission or a calibrator, and answers commands until its judge is
gone.
"""

import dataclasses
import json
import socket

import torch

from harness.children.channel import Channel, ChannelClosed
from harness.children.command_handler import CommandHandler
from harness.children.job import Job
from harness.children.reference import Reference
from harness.children.runtime import ChildRuntime
from harness.children.submission import Submission
from harness.children.tensors import PRECISIONS
from harness.kernels import kernel_loading
from harness.sandbox import job_files
from harness.zygote import huge_pages

# The command handler of each role. A calibrator runs code of the harness only, so the base class is enough.
HANDLERS: dict[str, type[CommandHandler]] = {
    "reference": Reference,
    "submission": Submission,
    "calibrator": CommandHandler,
}

ASSIGNMENT_BYTES = 4096
FREE_GPU_BYTES_MIN = 256 << 20


def serve(
    job: Job,
    judge: socket.socket,
    runtime: ChildRuntime,
    audit: int | None,
    roles: dict[str, type[CommandHandler]] = HANDLERS,
) -> None:
    """Runs the whole life of the child, until its judge is gone."""
    gpu_byte: torch.Tensor | None = None
    error: Exception | None = None
    try:
        gpu_byte = warm_up(job, judge, runtime, audit)
    except Exception as raised:  # told to the judge as the answer to its first command
        error = raised
    try:
        judge.send(b"warm" if error is None and not is_gpu_memory_short(job) else b"cold")
        job = with_assignment(job, receive(judge))
        try:
            job_files.prepare(job, job.problem if job.role == "reference" else job.entry)
            roles[job.role].prepare(job)
        except Exception as raised:
            error = error or raised
        channel = Channel(judge, runtime)
        if not job.on_gpu:
            channel.tell_process()
        role = roles[job.role](job, channel, runtime, gpu_byte)
        if error is not None:
            role.fail(error)
        role.serve()
    except (ChannelClosed, BrokenPipeError, ConnectionResetError):
        pass


def warm_up(job: Job, judge: socket.socket, runtime: ChildRuntime, audit: int | None) -> torch.Tensor | None:
    """Does what every job needs and what must not fall into a measurement: creates the CUDA context and starts CUPTI.
    Returns a byte of GPU memory, or None without a GPU.

    The worker sets CUDA_DEVICE_MAX_CONNECTIONS and CUDA_DEVICE_MAX_COPY_CONNECTIONS to 1: a context is then created in
    half the time, since it has one queue instead of eight, and no job has streams that could use more. The kernels that
    most jobs use are loaded here, if there is time (kernels/kernel_loading.py); CUDA loads the others when they are
    first launched, which falls into the calls before the trials.
    """
    gpu_byte = None
    if job.on_gpu:
        huge_pages.enable_for_process()
        torch.cuda.init()

    def offer() -> bool:
        judge.send(b"offers")
        return receive(judge) == b"go"

    judge.send(b"asks")
    receive(judge)
    if job.on_gpu:
        gpu_byte = torch.zeros(1, dtype=torch.uint8, device=job.device)
        runtime.clock_use_cuda()
        torch.cuda.synchronize()
        kernel_loading.load(job.device, offer)
    # CUPTI stops the device once when it starts, for less than half a millisecond. It starts after the kernels of the
    # harness, so that it reports none of them.
    if audit is not None:
        runtime.audit_begin(audit)
    return gpu_byte


def is_gpu_memory_short(job: Job) -> bool:
    """Returns whether the GPU has next to no free memory. A context that was created then has some of its memory
    elsewhere, and kernels in it can be much slower.
    """
    return job.on_gpu and torch.cuda.mem_get_info(job.device)[0] < FREE_GPU_BYTES_MIN


def receive(judge: socket.socket) -> bytes:
    packet = judge.recv(ASSIGNMENT_BYTES)
    if not packet:
        raise ChannelClosed
    return packet


def with_assignment(job: Job, packet: bytes) -> Job:
    """Returns the job that the pre-forked child becomes by this assignment."""
    told = json.loads(packet)
    return dataclasses.replace(
        job,
        role=told["role"],
        backend=told["backend"],
        entry=told["entry"],
        problem=told["problem"],
        precision=PRECISIONS[told["precision"]],
    )
