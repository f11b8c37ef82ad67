"""Checks at run time that the fields of a record hold values of their declared types."""

from __future__ import annotations

import types
import typing
from dataclasses import fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any

TYPE_NAMES = {str: "a text", int: "a whole number", float: "a number", list: "a list", dict: "a dict"}


def field_type_error(record: Any) -> str | None:
    """Returns an error text for the first field with a value of another type, else None.

    Example: "tags.turn must be a text, got int".
    """
    return _record_error(record, "")


def _record_error(record: Any, before: str) -> str | None:
    kind: type = type(record)
    for name, hint, is_leaf in _declared_fields(kind):
        value = getattr(record, name)
        if is_leaf and type(value) is hint:  # the fast path of nearly all fields: a batch has thousands of them
            continue
        if wrong := _value_error(value, hint, before + name):
            return wrong
    return None


@cache
def _declared_fields(kind: type) -> tuple[tuple[str, Any, bool], ...]:
    """Returns each field's name, its type, and whether the type is a plain class that type() can be compared with."""
    hints = typing.get_type_hints(kind)
    return tuple(
        (one.name, hint := hints[one.name], isinstance(hint, type) and not is_dataclass(hint)) for one in fields(kind)
    )


@cache
def _type_and_arguments(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    return typing.get_origin(hint) or hint, typing.get_args(hint)


def _value_error(value: Any, hint: Any, place: str) -> str | None:
    kind, inner = _type_and_arguments(hint)
    if kind in (typing.Union, types.UnionType):  # X | None
        return None if value is None else _value_error(value, inner[0], place)
    if not _is_a(kind, value):
        return f"{place} must be {TYPE_NAMES.get(kind, 'a ' + kind.__name__)}, got {type(value).__name__}"
    items: list[tuple[Any, Any, str]] = []
    if kind is list:
        items = [(one, inner[0], f"{place}[{i}]") for i, one in enumerate(value)]
    elif kind is dict:
        items = [(one, inner[0], f"a name of {place}") for one in value]
        items += [(one, inner[1], f"{place}.{name}") for name, one in value.items()]
    elif is_dataclass(kind):
        return _record_error(value, place + ".")
    return next((wrong for one in items if (wrong := _value_error(*one))), None)


def _is_a(kind: Any, value: Any) -> bool:
    if kind in (int, float):  # numbers of numpy count as numbers, True and False do not
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    return isinstance(value, kind)
