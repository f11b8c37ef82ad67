"""bytes <-> dataclasses: core/bytes/codec.cc in Python.

A record is a map of its fields, an enumerator its name, a Hash 32 bytes of `bin`. Text and bytes are both `str`, whose
bytes the format does not restrict: in between, Python holds them as text with surrogateescape, which loses nothing.
Fields that are absent keep their defaults and unknown ones are ignored, so both ends may grow.
"""

from __future__ import annotations

import operator
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar

import msgpack

from kq.hash import Hash
from kq.limits import MESSAGE_BYTES_MAX
from kq.messages import PROTOCOL_VERSION
from kq.verdict import Correctness, Evidence, Measurement, Verdict, VerdictName

T = TypeVar("T")


class Malformed(ValueError):
    """Bytes that are no such record or message: where, and what was expected."""

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"malformed message at '{where}': {what}" if where else f"malformed message: {what}")
        self.what = what
        self.where = where

    def below(self, place: str) -> Malformed:
        return Malformed(self.what, place + self.where)


def encode(value: Any) -> bytes:
    return _pack(lambda: _plain(type(value), value))


def decode(kind: type[T], data: bytes) -> T:
    return typing.cast(T, _typed(kind, _unpack(data)))


def encode_message(request_id: int, body: Any) -> bytes:
    return _pack(lambda: [PROTOCOL_VERSION, request_id, [message_name(type(body)), _plain(type(body), body)]])


def decode_message(data: bytes, bodies: Iterable[type]) -> tuple[int, Any]:
    """The request_id and the body, which is one of `bodies`."""
    message = _unpack(data)
    if not isinstance(message, list) or len(message) != 3:
        raise Malformed("[version, request_id, [name, body]] was expected")
    version, request_id, named = message
    if version != PROTOCOL_VERSION:
        raise Malformed(f"protocol version {version!r}, this program speaks {PROTOCOL_VERSION}")
    name, body = _alternative(named)
    kinds = {message_name(kind): kind for kind in bodies}
    if name not in kinds:
        raise Malformed(f"unknown name '{name[:64]}', known are: {', '.join(kinds)}")
    return _typed(int, request_id), _typed(kinds[name], body)


def message_name(kind: type[Any]) -> str:
    """SubmitBatch -> submit_batch"""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


# ---- msgpack


def _pack(plain: Callable[[], Any]) -> bytes:
    try:
        return typing.cast(bytes, msgpack.packb(plain(), unicode_errors="surrogateescape"))
    except (
        AttributeError,
        TypeError,
        ValueError,
        OverflowError,
    ) as error:  # a field of another type, a number too large
        raise Malformed(str(error)) from None


def _unpack(data: bytes) -> Any:
    if len(data) > MESSAGE_BYTES_MAX:
        raise Malformed(f"{len(data)} bytes, the limit is {MESSAGE_BYTES_MAX}")
    try:
        return msgpack.unpackb(data, raw=False, unicode_errors="surrogateescape")
    except (ValueError, msgpack.UnpackException) as error:
        raise Malformed(str(error) or type(error).__name__) from None


# ---- dataclass -> what msgpack packs


@cache
def _fields(kind: type) -> tuple[tuple[str, Any], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((one.name, hints[one.name]) for one in fields(kind) if not one.metadata.get("local"))


def _plain(hint: Any, value: Any) -> Any:
    if inner := _optional(hint):
        return None if value is None else _plain(inner, value)
    origin = typing.get_origin(hint)
    if origin is list:
        (item,) = typing.get_args(hint)
        return [_plain(item, one) for one in value]
    if origin is dict:  # in the order of the bytes, as the broker keeps it
        return dict(sorted(value.items(), key=lambda pair: pair[0].encode(errors="surrogateescape")))
    if hint is bytes:  # not a Hash, which is `bin`
        return value.decode(errors="surrogateescape")
    if hint is float:
        return float(value)
    if hint is int:
        return operator.index(value)
    if hint is Verdict:
        return _plain_verdict(value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return value.value
    if is_dataclass(hint):
        return {name: _plain(inner, getattr(value, name)) for name, inner in _fields(typing.cast(type, hint))}
    return value


def _plain_verdict(verdict: Verdict) -> list[Any]:
    measured = {"measurement": verdict.measurement, "correctness": verdict.correctness}
    if verdict.name is VerdictName.PASSED:
        return ["passed", {name: _plain(type(value), value) for name, value in measured.items()}]
    evidence = {"evidence": _plain(Evidence, verdict.evidence)}
    if verdict.name is VerdictName.SUSPECT:
        return ["suspect", {name: _plain(type(value), value) for name, value in measured.items()} | evidence]
    return ["ended", {"name": verdict.name.value} | evidence]


# ---- what msgpack unpacks -> dataclass


def _typed(hint: Any, plain: Any) -> Any:
    if inner := _optional(hint):
        return None if plain is None else _typed(inner, plain)
    if reader := _SCALARS.get(hint):
        return reader(plain)
    origin = typing.get_origin(hint)
    if origin is list:
        (item,) = typing.get_args(hint)
        return [_at(f"[{i}]", item, one) for i, one in enumerate(_a(list, plain, "an array"))]
    if origin is dict:
        return {_text(name): _text(value) for name, value in _a(dict, plain, "a map").items()}
    if hint is Verdict:
        return _verdict(plain)
    if issubclass(hint, Enum):
        try:
            return hint(_text(plain))
        except ValueError:
            known = ", ".join(one.value for one in hint)
            raise Malformed(f"unknown name '{_text(plain)[:64]}', known are: {known}") from None
    given = _a(dict, plain, "a map")
    return hint(**{name: _at("." + name, inner, given[name]) for name, inner in _fields(hint) if name in given})


def _at(place: str, hint: Any, plain: Any) -> Any:
    try:
        return _typed(hint, plain)
    except Malformed as malformed:
        raise malformed.below(place) from None


def _verdict(plain: Any) -> Verdict:
    name, body = _alternative(plain)
    if name not in ("passed", "suspect", "ended"):
        raise Malformed(f"unknown name '{name[:64]}', known are: passed, suspect, ended")
    given = _a(dict, body, "a map")
    if name == "ended":
        ending = _at(".name", VerdictName, given.get("name", VerdictName.ABANDONED.value))
        if ending in (VerdictName.PASSED, VerdictName.SUSPECT):
            raise Malformed(f"'{ending.value}' has a form of its own")
        return Verdict(ending, _at(".evidence", Evidence, given.get("evidence", {})))
    return Verdict(
        VerdictName[name.upper()],
        evidence=_at(".evidence", Evidence, given.get("evidence", {})) if name == "suspect" else None,
        measurement=_at(".measurement", Measurement, given.get("measurement", {})),
        correctness=_at(".correctness", Correctness, given.get("correctness", {})),
    )


def _alternative(plain: Any) -> tuple[str, Any]:
    if not isinstance(plain, list) or len(plain) != 2:
        raise Malformed("[name, body] was expected")
    return _text(plain[0]), plain[1]


def _a(kind: type[T], plain: Any, what: str) -> T:
    if type(plain) is not kind:  # a bool is no integer
        raise Malformed(f"{what} was expected")
    return plain


def _raw(plain: Any) -> bytes:
    return _a(str, plain, "a string").encode(errors="surrogateescape")


def _text(plain: Any) -> str:
    return _raw(plain).decode(errors="replace")


def _hash(plain: Any) -> Hash:
    if len(_a(bytes, plain, "32 bytes of a hash")) != 32:
        raise Malformed("32 bytes of a hash was expected")
    return Hash(plain)


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    Hash: _hash,
    str: _text,
    bytes: _raw,
    bool: lambda plain: _a(bool, plain, "true or false"),
    int: lambda plain: _a(int, plain, "an integer"),
    float: lambda plain: _a(float, plain, "a 64-bit float"),
}


@cache
def _optional(hint: Any) -> Any:
    """X of `X | None`, or nothing."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return None
    (inner,) = (one for one in typing.get_args(hint) if one is not type(None))
    return inner
