"""The base class of enumerations whose names are the same in C++, on the wire, in outputs and in the documents."""

from __future__ import annotations

from enum import Enum


class TextEnum(str, Enum):
    """An enumeration of texts. A member equals its text and prints as its text in every version of Python."""

    def __str__(self) -> str:
        return str(self.value)
