"""The name of the submitter, whose share and quota jobs use. The Python twin of producer/client/submitter.h."""

from __future__ import annotations

import os
import pwd
import socket

from kq.records.validate import check_name


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
