"""Reads the key file of a client. The Python twin of net/zmq/keys.cc.

A broker identifies whoever holds the file by the name in it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from kq.errors import BadInput

TITLE = "kq client key 1"
FILE_BYTES_MAX = 4 << 10
BEYOND_OWNER = 0o077
# What a secret of root may not grant: its group may read it, because only root can put this process into that group.
BEYOND_GROUP_READ = 0o037
FIELDS = ("name", "role", "public", "secret", "broker")
ROLES = ("submit", "admin")  # the roles that a client's key may have
Z85 = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")


@dataclass(frozen=True)
class Key:
    """The contents of a key file."""

    name: str
    role: str
    public: str
    secret: str
    broker: str  # the broker's public key

    @staticmethod
    def read(path: str | Path) -> Key:
        """Reads a key file; raises BadInput if it is unreadable, malformed, or readable by other users."""

        def refuse(what: str) -> BadInput:
            return BadInput(f"key file {path}{what}")

        try:
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                data = file.read(FILE_BYTES_MAX + 1)
        except OSError as error:
            raise refuse(f": {error.strerror}") from None
        if status.st_mode & (BEYOND_GROUP_READ if status.st_uid == 0 and os.geteuid() != 0 else BEYOND_OWNER):
            raise refuse(" holds a secret and other users may read or write it; chmod 600 it, and make a new key")
        if len(data) > FILE_BYTES_MAX:
            raise refuse(f" is longer than {FILE_BYTES_MAX} bytes")
        lines = data.decode(errors="replace").splitlines()
        if lines[:1] != [TITLE]:
            raise refuse(f": its first line is not '{TITLE}'")
        found: dict[str, str] = {}
        for line in lines[1:]:
            if not line or line.startswith("#"):
                continue
            field, _, value = line.partition(" ")
            if field not in FIELDS or not value:
                raise refuse(f": '{field}' is not a field of a key file, or has no value")
            if field in found:
                raise refuse(f": '{field}' is given twice")
            found[field] = value
        for field in FIELDS:
            if field not in found:
                raise refuse(f" has no line '{field} ...'")
        key = Key(**found)
        if not all(Z85.fullmatch(text) for text in (key.public, key.secret, key.broker)):
            raise refuse(": a key is 40 characters of Z85")
        if key.role not in ROLES:
            holder = f"'{key.name}' with the role {key.role}"
            raise refuse(f" belongs to {holder}; a client needs a key with the role submit or admin")
        return key


def given_key(path: str | Path | None) -> Key | None:
    """Returns the key in the given file, else in the file that KQ_KEY names, else None."""
    path = path or os.environ.get("KQ_KEY")
    if path and not isinstance(path, str | os.PathLike):  # open() would take an int as a descriptor and close it
        raise BadInput(f"key must be the path of a key file, got {type(path).__name__}")
    return Key.read(path) if path else None
