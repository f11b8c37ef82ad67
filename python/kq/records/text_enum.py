"""Names that are spelled the same in C++, on the wire, in every output and in the docs."""

from __future__ import annotations

from enum import Enum


class TextEnum(str, Enum):
    """An enumerator that is its own name: it compares to text, and prints as text in every version of Python."""

    def __str__(self) -> str:
        return str(self.value)
