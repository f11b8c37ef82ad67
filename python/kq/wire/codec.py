"""Encodes dataclasses as msgpack and decodes them. The Python twin of core/codec/codec.cc.

A record is a map of its fields, an enumeration member is its name, and a Hash is 32 bytes of `bin`. Text and bytes are
both `str`, whose bytes the format does not restrict; in between, Python holds them as text with surrogateescape, which
is lossless. Absent fields keep their defaults and unknown fields are ignored, so client and broker may have different
versions.
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

from kq.records.hash import Hash
from kq.records.limits import MESSAGE_BYTES_MAX
from kq.records.verdict import Correctness, Evidence, Measurement, Verdict, VerdictName
from kq.wire.messages import PROTOCOL_VERSION

T = TypeVar("T")


class Malformed(ValueError):
    """The bytes are not a valid record or message. The text says where the error is and what was expected."""

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(f"malformed message at '{where}': {what}" if where else f"malformed message: {what}")
        self.what = what
        self.where = where

    def below(self, place: str) -> Malformed:
        """Returns the same error with the enclosing place put before its path."""
        return Malformed(self.what, place + self.where)


def encode(value: Any) -> bytes:
    """Returns the bytes of a record; raises Malformed if a field cannot be encoded."""
    return _pack(lambda: _to_msgpack(type(value), value))


def decode(kind: type[T], data: bytes) -> T:
    """Returns the record of that type in the bytes; raises Malformed."""
    return typing.cast(T, _from_msgpack(kind, _unpack(data)))


def encode_message(request_id: int, body: Any) -> bytes:
    """Returns the bytes of a message, which is [version, request_id, [name, body]]; raises Malformed."""
    return _pack(lambda: [PROTOCOL_VERSION, request_id, [message_name(type(body)), _to_msgpack(type(body), body)]])


def decode_message(data: bytes, bodies: Iterable[type]) -> tuple[int, Any]:
    """Returns the request id and the body, whose type is one of `bodies`; raises Malformed."""
    message = _unpack(data)
    if not isinstance(message, list) or len(message) != 3:
        raise Malformed("[version, request_id, [name, body]] was expected")
    version, request_id, named = message
    if version != PROTOCOL_VERSION:
        raise Malformed(f"protocol version {version!r}, this program speaks {PROTOCOL_VERSION}")
    name, body = _name_and_body(named)
    kinds = {message_name(kind): kind for kind in bodies}
    if name not in kinds:
        raise Malformed(f"unknown name '{name[:64]}', known are: {', '.join(kinds)}")
    return _from_msgpack(int, request_id), _from_msgpack(kinds[name], body)


def message_name(kind: type[Any]) -> str:
    """Returns the name of a message type on the wire; SubmitBatch becomes submit_batch."""
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


# ---- from dataclasses to values that msgpack packs


@cache
def _fields(kind: type) -> tuple[tuple[str, Any, Any], ...]:
    """Returns the name and type of each field that is part of the record, and the value on the wire that stands for
    None. Most fields have no such value: their None is msgpack's own.
    """
    hints = typing.get_type_hints(kind)
    return tuple(
        (one.name, hints[one.name], one.metadata.get("absent")) for one in fields(kind) if not one.metadata.get("local")
    )


def _to_msgpack(hint: Any, value: Any) -> Any:
    if inner := _optional(hint):
        return None if value is None else _to_msgpack(inner, value)
    origin = typing.get_origin(hint)
    if origin is list:
        (item,) = typing.get_args(hint)
        return [_to_msgpack(item, one) for one in value]
    if origin is dict:  # sorted by the bytes of the keys, as the broker sorts its maps
        return dict(sorted(value.items(), key=lambda pair: pair[0].encode(errors="surrogateescape")))
    if hint is bytes:  # a Hash has another type and stays `bin`
        return value.decode(errors="surrogateescape")
    if hint is float:
        return float(value)
    if hint is int:
        return operator.index(value)
    if hint is Verdict:
        return _verdict_to_msgpack(value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return value.value
    if is_dataclass(hint):
        return {
            name: _to_msgpack(inner, absent if (found := getattr(value, name)) is None else found)
            for name, inner, absent in _fields(typing.cast(type, hint))
        }
    return value


def _verdict_to_msgpack(verdict: Verdict) -> list[Any]:
    measured = {"measurement": verdict.measurement, "correctness": verdict.correctness}
    if verdict.name is VerdictName.PASSED:
        return ["passed", {name: _to_msgpack(type(value), value) for name, value in measured.items()}]
    evidence = {"evidence": _to_msgpack(Evidence, verdict.evidence)}
    if verdict.name is VerdictName.SUSPECT:
        return ["suspect", {name: _to_msgpack(type(value), value) for name, value in measured.items()} | evidence]
    return ["ended", {"name": verdict.name.value} | evidence]


# ---- from values that msgpack unpacks to dataclasses


def _from_msgpack(hint: Any, plain: Any) -> Any:
    if inner := _optional(hint):
        return None if plain is None else _from_msgpack(inner, plain)
    if reader := _SCALARS.get(hint):
        return reader(plain)
    origin = typing.get_origin(hint)
    if origin is list:
        (item,) = typing.get_args(hint)
        return [_at(f"[{i}]", item, one) for i, one in enumerate(_expect(list, plain, "an array"))]
    if origin is dict:
        return {_text(name): _text(value) for name, value in _expect(dict, plain, "a map").items()}
    if hint is Verdict:
        return _verdict_from_msgpack(plain)
    if issubclass(hint, Enum):
        try:
            return hint(_text(plain))
        except ValueError:
            known = ", ".join(one.value for one in hint)
            raise Malformed(f"unknown name '{_text(plain)[:64]}', known are: {known}") from None
    given = _expect(dict, plain, "a map")
    return hint(
        **{
            name: None if absent is not None and given[name] == absent else _at("." + name, inner, given[name])
            for name, inner, absent in _fields(hint)
            if name in given
        }
    )


def _at(place: str, hint: Any, plain: Any) -> Any:
    try:
        return _from_msgpack(hint, plain)
    except Malformed as malformed:
        raise malformed.below(place) from None


def _verdict_from_msgpack(plain: Any) -> Verdict:
    name, body = _name_and_body(plain)
    if name not in ("passed", "suspect", "ended"):
        raise Malformed(f"unknown name '{name[:64]}', known are: passed, suspect, ended")
    given = _expect(dict, body, "a map")
    if name == "ended":
        ending = _at(".name", VerdictName, given.get("name", VerdictName.ABANDONED.value))
        if ending in (VerdictName.PASSED, VerdictName.SUSPECT):
            raise Malformed(f"'{ending.value}' must not have the form of 'ended'")
        return Verdict(ending, _at(".evidence", Evidence, given.get("evidence", {})))
    return Verdict(
        VerdictName[name.upper()],
        evidence=_at(".evidence", Evidence, given.get("evidence", {})) if name == "suspect" else None,
        measurement=_at(".measurement", Measurement, given.get("measurement", {})),
        correctness=_at(".correctness", Correctness, given.get("correctness", {})),
    )


def _name_and_body(plain: Any) -> tuple[str, Any]:
    if not isinstance(plain, list) or len(plain) != 2:
        raise Malformed("[name, body] was expected")
    return _text(plain[0]), plain[1]


def _expect(kind: type[T], plain: Any, what: str) -> T:
    if type(plain) is not kind:  # not isinstance(), for which a bool is an int
        raise Malformed(f"{what} was expected")
    return plain


def _raw(plain: Any) -> bytes:
    return _expect(str, plain, "a string").encode(errors="surrogateescape")


def _text(plain: Any) -> str:
    return _raw(plain).decode(errors="replace")


def _hash(plain: Any) -> Hash:
    if len(_expect(bytes, plain, "32 bytes of a hash")) != 32:
        raise Malformed("32 bytes of a hash was expected")
    return Hash(plain)


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    Hash: _hash,
    str: _text,
    bytes: _raw,
    bool: lambda plain: _expect(bool, plain, "true or false"),
    int: lambda plain: _expect(int, plain, "an integer"),
    float: lambda plain: _expect(float, plain, "a 64-bit float"),
}


@cache
def _optional(hint: Any) -> Any:
    """Returns X for the type `X | None`, else None."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return None
    (inner,) = (one for one in typing.get_args(hint) if one is not type(None))
    return inner
