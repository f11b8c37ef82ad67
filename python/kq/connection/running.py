"""Finds the broker that `kq up` runs in any state folder of the user, or `kq sweep` in the default one.

The Python twin of producer/client/running_stack.cc.
"""

from __future__ import annotations

import os
import stat
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


def last_up_folder() -> str | None:
    """Returns the state folder of this user's last `kq up`.

    Returns nothing if none is known, or if the folder belongs to another user or every user may write into it.
    """
    usual = default_state_folder()
    if usual is None:
        return None
    try:
        with open(f"{usual}/last-up", encoding="utf-8", errors="surrogateescape") as file:
            folder = file.read()
        status = os.stat(folder)
    except (OSError, ValueError):
        return None
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & stat.S_IWOTH
    return folder if is_own else None


def running_broker() -> RunningBroker | None:
    """Returns the broker that runs in the state folder of the last `kq up`, else in the default one, or None."""
    if sys.platform != "linux":
        return None
    for folder in (last_up_folder(), default_state_folder()):
        if folder and (broker := broker_in(folder)):
            return broker
    return None


def broker_in(folder: str) -> RunningBroker | None:
    """Returns the broker that runs in a state folder, or None if no process holds the folder's lock."""
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
