"""The name of the submitter, whose share and quota jobs use. The Python twin of producer/client/submitter.h."""

from __future__ import annotations

import os
import pwd
import socket

from kq.connection.key import Key
from kq.records.validate import check_name


class DefaultRun(str):
    """The name of a run that the caller did not choose."""


def run_of(run: str, key: Key | None) -> str:
    """Returns the name of the run; a default name gets the key's name before it, as a run belongs to one key."""
    return f"{key.name}/{run}" if key is not None and isinstance(run, DefaultRun) else str(run)


def submitter_name(submitter: str | None) -> str:
    """Returns the given name, else KQ_SUBMITTER, else user@host; raises BadInput for an invalid name."""
    name = submitter or os.environ.get("KQ_SUBMITTER")
    if not name:
        try:
            user = pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:  # a container may run as a user without a passwd entry
            user = f"uid{os.geteuid()}"
        name = f"{user}@{socket.gethostname()}"
    check_name("submitter", name)
    return name
