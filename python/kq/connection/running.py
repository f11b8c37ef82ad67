"""Finds the broker that `kq up` or `kq sweep` runs in the user's default state folder.

The Python twin of producer/client/running_stack.cc.
"""

from __future__ import annotations

import os
import struct
import sys
from typing import NamedTuple

# struct flock of 64-bit Linux: type, whence, start, length and process id.
FLOCK = struct.Struct("@hhqqi4x")


class RunningBroker(NamedTuple):
    """The broker's URL, and the state folder of the process that runs it."""

    url: str
    state_folder: str


def default_state_folder() -> str | None:
    """Returns $XDG_STATE_HOME/kq, else ~/.local/state/kq; nothing where neither variable is set."""
    if state_home := os.environ.get("XDG_STATE_HOME"):
        return f"{state_home}/kq"
    home = os.environ.get("HOME")
    return f"{home}/.local/state/kq" if home else None


def running_broker() -> RunningBroker | None:
    """Returns the broker that runs in the default state folder, or None if no process holds the folder's lock."""
    folder = default_state_folder()
    if folder is None or sys.platform != "linux":
        return None
    import fcntl

    try:
        with open(f"{folder}/lock", "r+b") as file:
            asked = FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, *_ = FLOCK.unpack(fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return None
    found = [line.removeprefix("url ") for line in lines if line.startswith("url ")]
    return RunningBroker(found[-1], folder) if kind != fcntl.F_UNLCK and found else None
