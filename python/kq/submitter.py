"""Who submits: producer/client/submitter.h in Python."""

from __future__ import annotations

import os
import pwd
import socket

from kq.validate import check_name


def submitter_name(submitter: str | None) -> str:
    """The name given, else KQ_SUBMITTER, else user@host."""
    name = submitter or os.environ.get("KQ_SUBMITTER")
    if not name:
        try:
            user = pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:  # a container may run a user without an entry
            user = f"uid{os.geteuid()}"
        name = f"{user}@{socket.gethostname()}"
    check_name("submitter", name)
    return name
