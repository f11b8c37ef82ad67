"""SHA-256, the one content hash of kq."""

from __future__ import annotations

import hashlib


class Hash(bytes):
    """The 32 raw bytes. On the wire they are msgpack `bin`, unlike every other text or bytes."""

    @classmethod
    def of(cls, content: bytes) -> Hash:
        return cls(hashlib.sha256(content).digest())

    def __str__(self) -> str:
        return self.hex()

    def __repr__(self) -> str:
        return f"Hash({self.hex()})"


NO_HASH = Hash(32)
