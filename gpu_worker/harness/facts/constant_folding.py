"""What an operation on constants gives, without running anything of the source: only what builds, slices, joins and decodes.

Everything here is bounded: a text or list that would grow beyond what a source file may hold is not folded, and the name or text that was
to come of it stays unknown.
"""

import ast
import base64
import binascii
import bz2
import codecs
import lzma
import operator
import string
import textwrap
import zlib
from collections.abc import Callable
from typing import Any

TEXT_MAX = 1 << 20  # characters or bytes of a folded text
ITEMS_MAX = 1 << 14  # of a folded list
NUMBER_MAX = 1 << 64
ERRORS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    zlib.error,
)


class NotFoldable(Exception):
    """It cannot be told, or is more than anybody would write."""


def bounded(value: Any) -> Any:
    """The value itself, if it is of a kind and size that is followed."""
    if isinstance(value, (str, bytes, bytearray)):
        if len(value) <= TEXT_MAX:
            return value
    elif value is None or isinstance(value, (bool, float)):
        return value
    elif isinstance(value, int):
        if -NUMBER_MAX <= value <= NUMBER_MAX:
            return value
    elif isinstance(value, (list, tuple, dict, set, frozenset, slice, range)):
        if isinstance(value, slice) or len(value) <= ITEMS_MAX:
            return value
    raise NotFoldable


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitXor: operator.xor,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
SIZED = (str, bytes, bytearray, list, tuple)


def binary(op: ast.operator, left: Any, right: Any) -> Any:
    function = BINARY.get(type(op))
    if function is None:
        raise NotFoldable
    if isinstance(op, ast.Mult):
        for one, other in ((left, right), (right, left)):
            if isinstance(one, SIZED) and (not isinstance(other, int) or len(one) * max(other, 0) > TEXT_MAX):
                raise NotFoldable
    if isinstance(op, ast.LShift) and (not isinstance(right, int) or right > 64):
        raise NotFoldable
    if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)) and _widths_are_large(left):
        raise NotFoldable
    return _tried(function, left, right)


def unary(op: ast.unaryop, value: Any) -> Any:
    if isinstance(op, ast.USub):
        return _tried(operator.neg, value)
    if isinstance(op, ast.Not):
        return not value
    if isinstance(op, ast.Invert):
        return _tried(operator.invert, value)
    raise NotFoldable


def subscript(value: Any, index: Any) -> Any:
    if isinstance(value, (*SIZED, dict, range)):
        return _tried(operator.getitem, value, index)
    raise NotFoldable


# Methods of constants that build or decode text.
METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        "join replace format lower upper title capitalize swapcase casefold strip lstrip rstrip removeprefix removesuffix encode split rsplit "
        "splitlines partition rpartition translate zfill __add__ __getitem__ __str__".split()
    ),
    bytes: frozenset(
        "join replace lower upper strip lstrip rstrip removeprefix removesuffix decode split hex translate __add__ __getitem__".split()
    ),
    bytearray: frozenset("join replace decode hex translate __getitem__".split()),
    dict: frozenset("get values keys items __getitem__".split()),
    list: frozenset(["__getitem__", "copy"]),
    tuple: frozenset(["__getitem__"]),
    int: frozenset(["to_bytes"]),
}


def method(value: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if name not in METHODS.get(type(value), ()):
        raise NotFoldable
    if name == "zfill" and (not arguments or not isinstance(arguments[0], int) or arguments[0] > TEXT_MAX):
        raise NotFoldable
    if name == "to_bytes" and (not arguments or not isinstance(arguments[0], int) or arguments[0] > TEXT_MAX):
        raise NotFoldable
    if name == "format" and _widths_are_large(value):
        raise NotFoldable
    if name == "replace" and len(arguments) >= 2 and isinstance(arguments[1], (str, bytes)):
        if len(value) * (len(arguments[1]) + 1) > TEXT_MAX * 8:
            raise NotFoldable
    if name == "join" and arguments and isinstance(arguments[0], (list, tuple)):
        if len(value) * len(arguments[0]) > TEXT_MAX:
            raise NotFoldable
    done = _tried(getattr(value, name), *arguments, **keywords)
    return list(done) if isinstance(value, dict) and name in ("values", "keys", "items") else done


def _widths_are_large(template: str | bytes) -> bool:
    """ "{:>999999999}" and "%999999999d" make much of little."""
    text = template if isinstance(template, str) else template.decode("latin-1")
    run = 0
    for c in text:
        run = run + 1 if c.isdigit() else 0
        if run > 4:
            return True
    return "*" in text and "%" in text


def _tried(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    try:
        return bounded(function(*arguments, **keywords))
    except ERRORS as error:
        raise NotFoldable from error


def _inflated(data: bytes, wbits: int = 15) -> bytes:
    return zlib.decompressobj(wbits).decompress(bytes(data), TEXT_MAX)


def _listed(values: Any) -> list[Any]:
    return list(bounded(values))


def _ranged(*limits: int) -> list[int]:
    values = range(*limits)
    if len(values) > ITEMS_MAX:
        raise NotFoldable
    return list(values)


def _bytes_of(value: Any = b"", encoding: str = "utf-8") -> bytes:
    if isinstance(value, int):
        raise NotFoldable
    return value.encode(encoding) if isinstance(value, str) else bytes(value)


def _text_of(value: Any = "", encoding: str = "utf-8", errors: str = "strict") -> str:
    return value.decode(encoding, errors) if isinstance(value, (bytes, bytearray)) else str(value)


def _coded(function: Callable[..., Any]) -> Callable[..., Any]:
    """codecs.decode and encode with a codec that does not inflate without bound."""

    def coded(value: Any, encoding: str = "utf-8", errors: str = "strict") -> Any:
        name = encoding.replace("-", "_").lower()
        if name.startswith(("zlib", "zip")):
            return _inflated(value)
        if name.startswith(("bz2", "idna", "punycode")):
            raise NotFoldable
        return function(value, encoding, errors)

    return coded


CALLS: dict[str, Callable[..., Any]] = {
    "chr": chr,
    "ord": ord,
    "str": _text_of,
    "bytes": _bytes_of,
    "bytearray": _bytes_of,
    "int": int,
    "len": len,
    "hex": hex,
    "ascii": ascii,
    "repr": repr,
    "list": _listed,
    "tuple": _listed,
    "reversed": lambda values: list(bounded(values))[::-1],
    "sorted": sorted,
    "enumerate": lambda values: [list(pair) for pair in enumerate(_listed(values))],
    "zip": lambda *lists: [list(row) for row in zip(*map(_listed, lists))],
    "range": _ranged,
    "slice": slice,
    "min": min,
    "max": max,
    "abs": abs,
    "dict.fromkeys": dict.fromkeys,
    "bytes.fromhex": bytes.fromhex,
    "bytearray.fromhex": bytes.fromhex,
    "int.to_bytes": int.to_bytes,
    "str.maketrans": str.maketrans,
    "bytes.maketrans": bytes.maketrans,
    "operator.add": operator.add,
    "operator.concat": operator.add,
    "base64.b64decode": base64.b64decode,
    "base64.standard_b64decode": base64.b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
    "base64.b32decode": base64.b32decode,
    "base64.b16decode": base64.b16decode,
    "base64.a85decode": base64.a85decode,
    "base64.b85decode": base64.b85decode,
    "base64.decodebytes": base64.decodebytes,
    "binascii.a2b_base64": binascii.a2b_base64,
    "binascii.a2b_hex": binascii.a2b_hex,
    "binascii.unhexlify": binascii.unhexlify,
    "codecs.decode": _coded(codecs.decode),
    "codecs.encode": _coded(codecs.encode),
    "zlib.decompress": _inflated,
    "gzip.decompress": lambda data: _inflated(data, 31),
    "bz2.decompress": lambda data: bz2.BZ2Decompressor().decompress(bytes(data), TEXT_MAX),
    "lzma.decompress": lambda data: lzma.LZMADecompressor(memlimit=64 << 20).decompress(bytes(data), TEXT_MAX),
    "textwrap.dedent": textwrap.dedent,
    "inspect.cleandoc": lambda text: textwrap.dedent(text).strip("\n"),
}
CONSTANTS: dict[str, Any] = {
    f"string.{name}": getattr(string, name)
    for name in (
        "ascii_letters",
        "ascii_lowercase",
        "ascii_uppercase",
        "digits",
        "hexdigits",
        "punctuation",
        "printable",
    )
}


def call(name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    function = CALLS.get(name)
    if function is None:
        # str.join("", parts), bytes.decode(b"..")
        kind, _, attribute = name.partition(".")
        kinds: dict[str, tuple[type, ...]] = {"str": (str,), "bytes": (bytes, bytearray)}
        if arguments and kind in kinds and isinstance(arguments[0], kinds[kind]):
            return method(arguments[0], attribute, arguments[1:], keywords)
        raise NotFoldable
    return _tried(function, *arguments, **keywords)
