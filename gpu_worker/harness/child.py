"""A child of the zygote, from its fork to its end."""

import os
import socket
import sys
from pathlib import Path
from typing import Any

from harness.channel import Channel, ChannelClosed
from harness.reference import Reference
from harness.role import Job
from harness.stub import Stub
from harness.submission import Submission

# Where a child has its descriptors.
LOG_FD = 1
CHANNEL_FD = 3


def run(order: dict[str, Any], stub: Stub) -> int:
    """The work of one child, inside its sandbox; its exit code."""
    directory = Path(order["dir"])
    job = Job.from_order(order, directory / "src", directory / "work", directory / "out")
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(job.source))
    try:
        judge = socket.socket(fileno=CHANNEL_FD)
        role = Reference if job.role == "reference" else Submission
        role(job, Channel(judge, stub), stub).serve()
    except ChannelClosed:
        pass
    return 0


def settle(order: dict[str, Any], log: int, channel: int | None) -> None:
    """Descriptors, environment and directory of a fresh fork."""
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if channel is not None:
        os.dup2(channel, CHANNEL_FD)
    os.closerange(CHANNEL_FD + (channel is not None), os.sysconf("SC_OPEN_MAX"))
    os.umask(0o077)
    os.chdir(Path(order["dir"]) / "work")
