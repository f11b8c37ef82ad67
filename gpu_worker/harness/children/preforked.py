"""A child that waits for a job: warm, and told in one packet what it is to be.

It says b"warm" through its channel when it is, or b"cold" where it could not make itself warm, why is then its answer to the first command, or where it
found the device's memory full. What the device feels before that it asks for with b"asks", part by part, and begins each when b"go" has
come. The packet comes from control through the same, ahead of everything of the judge's; when it has come, the job's files lie in src/:

    {"role": "submission", "backend": "triton", "entry": "add.py", "problem": "relu.py", "precision": "as_given"}
"""

import dataclasses
import json
import socket
import sys

import torch

from harness.children.channel import Channel, ChannelClosed
from harness.children.command_handler import CommandHandler
from harness.children.job import Job
from harness.children.reference import Reference
from harness.children.runtime import ChildRuntime
from harness.children.submission import Submission
from harness.children.tensors import PRECISIONS
from harness.kernels import common_kernels

# A calibrator is a role that nothing was added to: it runs our code only.
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
    """All of a child's life, until its judge is gone."""
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
            roles[job.role].prepare(job)
        except Exception as raised:
            error = error or raised
        sys.path.insert(0, str(job.source))
        role = roles[job.role](job, Channel(judge, runtime), runtime, gpu_byte)
        if error is not None:
            role.fail(error)
        role.serve()
    except (ChannelClosed, BrokenPipeError, ConnectionResetError):
        pass


def warm_up(job: Job, judge: socket.socket, runtime: ChildRuntime, audit: int | None) -> torch.Tensor | None:
    """What every job needs, takes 0.1 s and must not fall into anybody's measurement: the CUDA context, and CUPTI. The one word on the GPU that comes
    of it.

    A context is made in 50 ms where CUDA_DEVICE_MAX_CONNECTIONS and CUDA_DEVICE_MAX_COPY_CONNECTIONS are 1, in 100 where they are not set (H200), and
    four at once in 150 ms instead of 450: there is one queue instead of eight, and nobody has streams that could use more. What a kernel costs
    when it is first launched, 10 to 30 ms and 100 for cuBLAS, falls into the calls before the trials: most jobs need few, and preparing the most common for
    all took 0.2 s of each child. One that is meant to be a reference does (common_kernels.py).
    """
    gpu_byte = None
    if job.on_gpu:
        torch.cuda.init()

    def ask() -> None:
        judge.send(b"asks")
        receive(judge)

    ask()
    if job.on_gpu:
        gpu_byte = torch.zeros(1, dtype=torch.uint8, device=job.device)
        runtime.clock_use_cuda()
        torch.cuda.synchronize()
    # CUPTI stops the device once when it begins, for 0.1 to 0.4 ms.
    if audit is not None:
        runtime.audit_begin(audit)
    if job.kernels:
        common_kernels.load(job.device, ask)
    return gpu_byte


def is_gpu_memory_short(job: Job) -> bool:
    """A context that was made while there was next to no memory has some of it elsewhere: a kernel of 15.7 us took 25.9 in one (H100)."""
    return job.on_gpu and torch.cuda.mem_get_info(job.device)[0] < FREE_GPU_BYTES_MIN


def receive(judge: socket.socket) -> bytes:
    packet = judge.recv(ASSIGNMENT_BYTES)
    if not packet:
        raise ChannelClosed
    return packet


def with_assignment(job: Job, packet: bytes) -> Job:
    """The job that a ready child becomes."""
    told = json.loads(packet)
    return dataclasses.replace(
        job,
        role=told["role"],
        backend=told["backend"],
        entry=told["entry"],
        problem=told["problem"],
        precision=PRECISIONS[told["precision"]],
    )
