"""Reads and writes the arguments of one call of an operator, as BackendBench's traces have them:

    ((T([2, 3], f32), -1.5), {'dtype': torch.float16})

Nothing is evaluated: Python's own parser reads the text, and only values of the known kinds are taken. The result has
the form that producer/formats/backendbench/record.h describes, and that op_problem.py makes the arguments from.
"""

from __future__ import annotations

import ast
from typing import Any

from kq.errors import BadInput

DTYPES = {
    "bf16": "bfloat16",
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "c32": "complex32",
    "c64": "complex64",
    "c128": "complex128",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "b8": "bool",
    "u8": "uint8",
}
TORCH_NAMES = ("torch", "th")
BYTES_MAX = 256 << 10
DEPTH_MAX = 16
INTEGER_MAX = 2**63

Json = Any
Call = tuple[list[Json], dict[str, Json]]


def parse(text: str) -> Call:
    """Returns the arguments by position and by name. Raises BadInput with the place."""
    text = text.strip()
    if len(text.encode(errors="surrogatepass")) > BYTES_MAX:
        raise BadInput(f"column 1: the record has more than {BYTES_MAX} bytes")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1].strip()
    try:
        pair = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        column = getattr(error, "offset", None) or 1
        raise BadInput(f"column {column}: {getattr(error, 'msg', None) or error}") from None
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        raise _wrong(pair, "expected a pair of a tuple and a dict of named arguments")
    positional, named = pair.elts
    if not isinstance(positional, ast.Tuple) or not isinstance(named, ast.Dict):
        raise _wrong(pair, "expected a pair of a tuple and a dict of named arguments")
    members = {}
    for key, value in zip(named.keys, named.values):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str) or not key.value.isidentifier():
            raise _wrong(key or named, "expected the name of an argument between quotation marks")
        members[key.value] = _value(value, 3)
    return [_value(value, 3) for value in positional.elts], members


def _wrong(node: ast.AST, sentence: str) -> BadInput:
    return BadInput(f"column {getattr(node, 'col_offset', 0) + 1}: {sentence}")


def _value(node: ast.AST, depth: int) -> Json:
    if depth > DEPTH_MAX:
        raise _wrong(node, f"more than {DEPTH_MAX} values lie inside one another")
    match node:
        case ast.Constant(value=str(text)):
            return _text(node, text, depth)
        case ast.Constant(value=bool() | None as value):
            return value
        case ast.Constant(value=int() | float() as value):
            return _number(node, value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if value is not True:
            return _number(node, -value)
        case ast.UnaryOp(op=ast.UAdd(), operand=ast.Constant(value=int() | float() as value)) if value is not True:
            return _number(node, value)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=ast.Name(id="inf")):
            return {"number": "-inf" if isinstance(sign, ast.USub) else "inf"}
        case ast.Name(id="inf" | "nan" as name):
            return {"number": name}
        case ast.Name(id=name) if name in DTYPES:
            return {"torch": DTYPES[name]}
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in TORCH_NAMES:
            return {"torch": name}
        case ast.List(elts=elements):
            return {"list": [_value(element, depth + 1) for element in elements]}
        case ast.Tuple(elts=elements):
            return {"tuple": [_value(element, depth + 1) for element in elements]}
        case ast.Call(func=ast.Name(id="T")):
            return _tensor(node, depth)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr="device")) if module in TORCH_NAMES:
            return _device(node)
    raise _wrong(node, "expected T(...), a dtype such as f32, torch.NAME, a number, a text, a list or a tuple")


def _number(node: ast.AST, value: float) -> float:
    if isinstance(value, int) and not -INTEGER_MAX <= value < INTEGER_MAX:
        raise _wrong(node, "the integer needs more than 64 bits")
    if isinstance(value, float) and value in (float("inf"), -float("inf")):
        raise _wrong(node, "the number is beyond what a float holds")
    return value


def _text(node: ast.AST, text: str, depth: int) -> Json:
    """Returns a text. BackendBench takes the text 'f32' as the dtype, and "torch.device('cuda')" as the device."""
    if text in DTYPES:
        return {"torch": DTYPES[text]}
    if not text.startswith("torch.device("):
        return text
    try:
        device = ast.parse(text, mode="eval").body
    except SyntaxError:
        raise _wrong(node, "the text is no torch.device(...)") from None
    return _value(device, depth + 1)


def _device(node: ast.Call) -> Json:
    match node.args:
        case [ast.Constant(value=str(kind))] if not node.keywords:
            return {"device": kind}
        case [ast.Constant(value=str(kind)), ast.Constant(value=int(index))] if not node.keywords:
            return {"device": kind, "index": index}
    raise _wrong(node, "expected torch.device('NAME') or torch.device('NAME', INDEX)")


def _tensor(node: ast.Call, depth: int) -> Json:
    if len(node.args) < 2 or any(keyword.arg != "device" for keyword in node.keywords):
        raise _wrong(node, "expected T([sizes], dtype) or T([sizes], dtype, [strides])")
    dtype = _value(node.args[1], depth + 1)
    if not isinstance(dtype, dict) or dtype.get("torch") not in DTYPES.values():
        raise _wrong(node.args[1], "expected a dtype such as f32")
    tensor: dict[str, Json] = {"tensor": _integers(node.args[0]), "dtype": dtype["torch"]}
    if len(node.args) > 2 and isinstance(node.args[2], ast.List):
        tensor["strides"] = _integers(node.args[2])
        if len(tensor["strides"]) != len(tensor["tensor"]):
            raise _wrong(node, "a tensor has as many strides as sizes")
    return tensor


def _integers(node: ast.AST) -> list[int]:
    values = _value(node, 0)
    numbers = values.get("list") if isinstance(values, dict) else None
    if numbers is None or not all(type(number) is int and number >= 0 for number in numbers):
        raise _wrong(node, "expected a list of integers from 0 on")
    return list(numbers)
