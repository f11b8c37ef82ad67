"""The content hash of kq, which is SHA-256."""

from __future__ import annotations

import hashlib


class Hash(bytes):
    """The 32 bytes of a SHA-256. On the wire a hash is msgpack `bin`; every other text or bytes is msgpack `str`."""

    @classmethod
    def of(cls, content: bytes) -> Hash:
        """Returns the hash of the content."""
        return cls(hashlib.sha256(content).digest())

    def __str__(self) -> str:
        return self.hex()

    def __repr__(self) -> str:
        return f"Hash({self.hex()})"


NO_HASH = Hash(32)
