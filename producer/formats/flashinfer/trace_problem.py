"""A problem that is a definition of flashinfer-bench or SOL-ExecBench with its workloads.

kq-submit puts a line GIVEN = "..." in front of this text, with a JSON object:

    definition    the definition as its file has it
    workloads     the workloads, in the order of their file
    tensors       the tensors of files that workloads name, by "PATH:KEY" (safetensors.h)

Random inputs are drawn anew for each trial: floats from the normal distribution, those of weights divided by the
square root of their last size; float8 within -2 and 2; integers from -1024 to 1023, int8 from its whole range. What
custom_inputs_entrypoint makes is made anew, too.
"""

import ast
import base64
import json
import linecache
import math
import operator
import types
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

GIVEN: dict[str, Any] = json.loads(globals()["GIVEN"])
DEFINITION: dict[str, Any] = GIVEN["definition"]
REFERENCE_FILE = "reference.py"
FLOAT8_HIGHEST = 2.0
INTEGER_HIGHEST = 1024
WEIGHTS = ("weight", "_weight", "_weights", "_proj")
DEFAULT_TOLERANCE = {"rtol": 1e-2, "atol": 1e-2, "matched": 0.99}
# The dtypes of tensors in files.
FILE_DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32"}
FILE_DTYPES |= {"I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool"}
FILE_DTYPES |= {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def reference() -> types.ModuleType:
    """Returns the module of the reference. Tracebacks find its lines in linecache."""
    source: str = DEFINITION["reference"]
    path = str(Path(__file__).with_name(REFERENCE_FILE))
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    module = types.ModuleType("kq_reference")
    module.__file__ = path
    exec(compile(source, path, "exec"), vars(module))  # the reference of a problem is what its author runs
    return module


def tolerance_of(workload: dict[str, Any]) -> dict[str, float]:
    given = workload.get("tolerance") or {}
    names = {"rtol": "max_rtol", "atol": "max_atol", "matched": "required_matched_ratio"}
    return {name: given.get(theirs, DEFAULT_TOLERANCE[name]) for name, theirs in names.items()}


def cap_of(number: int) -> float | None:
    """Returns the largest absolute error that a workload allows, or None."""
    return (GIVEN["workloads"][number].get("tolerance") or {}).get("max_error_cap")


# With such a bound the outputs are checked here. The number of the workload then follows the inputs.
HAS_CAPS = any(cap_of(number) is not None for number in range(len(GIVEN["workloads"])))

WORKLOADS = [
    {"number": number, "name": str(workload["uuid"]), "tolerance": tolerance_of(workload)}
    for number, workload in enumerate(GIVEN["workloads"])
]


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.run = reference().run

    def forward(self, *inputs: Any) -> Any:
        return call(self.run, inputs)


def call(function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """Calls a function with what the definition calls the inputs."""
    return function(*inputs[: len(DEFINITION["inputs"])])


def get_inputs(number: int) -> list[Any]:
    workload = GIVEN["workloads"][number]
    sizes = sizes_of(workload["axes"])
    given = workload["inputs"]
    scalars = {name: one["value"] for name, one in given.items() if one["type"] == "scalar"}
    custom: dict[str, Any] = {}
    if any(one["type"] == "custom" for one in given.values()):
        function = getattr(reference(), DEFINITION["custom_inputs_entrypoint"])
        custom = function(sizes | scalars, torch.empty(0).device)
    inputs = []
    for name, one in DEFINITION["inputs"].items():
        kind = given[name]["type"]
        if kind == "scalar":
            inputs.append(scalars[name])
        elif kind == "custom":
            inputs.append(custom[name])
        elif kind == "safetensors":
            inputs.append(tensor_of(given[name]))
        else:
            inputs.append(drawn(name, shape_of(one, sizes), getattr(torch, one["dtype"])))
    return [*inputs, number] if HAS_CAPS else inputs


def tensor_of(given: dict[str, str]) -> torch.Tensor:
    tensor = GIVEN["tensors"][f"{given['path']}:{given['tensor_key']}"]
    data = bytearray(zlib.decompress(base64.b64decode(tensor["data"])))
    dtype = getattr(torch, FILE_DTYPES[tensor["dtype"]])
    values = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
    return values.reshape(tensor["shape"]).to(torch.empty(0).device)


def sizes_of(axes: dict[str, int]) -> dict[str, int]:
    """Returns the size of every axis, given some of them. An expression may use the axes in front of it."""
    sizes: dict[str, int] = dict(axes)
    for name, axis in DEFINITION["axes"].items():
        if axis["type"] == "const":
            sizes[name] = axis["value"]
    for name, axis in DEFINITION["axes"].items():
        if axis["type"] == "expr" and name not in sizes:
            sizes[name] = int(value_of(ast.parse(axis["expression"], mode="eval").body, sizes))
    return sizes


def value_of(node: ast.AST, sizes: dict[str, int]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name) and node.id in sizes:
        return sizes[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](value_of(node.left, sizes), value_of(node.right, sizes))
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](value_of(node.operand, sizes))
    raise ValueError(f"{ast.unparse(node)!r} is no sum, product or power of axes and numbers")


def shape_of(tensor: dict[str, Any], sizes: dict[str, int]) -> list[int]:
    return [sizes[axis] if isinstance(axis, str) else int(axis) for axis in tensor["shape"] or []]


def drawn(name: str, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, dtype=torch.uint8).bool()
    if not dtype.is_floating_point:
        limit = min(INTEGER_HIGHEST, torch.iinfo(dtype).max + 1)
        return torch.randint(-limit, limit, shape, dtype=dtype)
    if dtype.itemsize == 1:
        return torch.randn(shape).clamp_(-FLOAT8_HIGHEST, FLOAT8_HIGHEST).to(dtype)
    values = torch.randn(shape, dtype=dtype)
    is_weight = len(shape) > 1 and any(name == word or name.endswith(word) for word in WEIGHTS)
    return values / math.sqrt(shape[-1]) if is_weight and shape[-1] > 0 else values


def call_with_outputs(function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """Calls a function of destination-passing style: the outputs are made here and follow the inputs."""
    inputs = inputs[: len(DEFINITION["inputs"])]
    sizes: dict[str, int] = {}
    for one, value in zip(DEFINITION["inputs"].values(), inputs):
        if isinstance(value, torch.Tensor) and one["shape"] is not None:
            sizes |= {axis: size for axis, size in zip(one["shape"], value.shape) if isinstance(axis, str)}
    sizes = sizes_of(sizes)
    device = next((value.device for value in inputs if isinstance(value, torch.Tensor)), None)
    outputs = [
        torch.empty(shape_of(one, sizes), dtype=getattr(torch, one["dtype"]), device=device)
        for one in DEFINITION["outputs"].values()
    ]
    function(*inputs, *outputs)
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def checked_with_cap(inputs: Sequence[Any], expected: Any, got: Any) -> str | None:
    """Compares outputs as SOL-ExecBench does: a share of the elements must be within the tolerance, and none may be
    farther off than the workload's max_error_cap.
    """
    number = inputs[-1]
    limits, cap = tolerance_of(GIVEN["workloads"][number]), cap_of(number)
    for index, (right, ours) in enumerate(zip(outputs_of(expected), outputs_of(got))):
        x, y = ours.float(), right.float()
        if not bool(torch.isfinite(x).all() and torch.isfinite(y).all()):
            return f"output {index} has elements that are not finite"
        if y.numel() == 0:
            continue
        errors = (x - y).abs()
        worst = float(errors.max())
        if cap is not None and worst > cap:
            return f"output {index} has an element that is off by {worst:.6g}; max_error_cap is {cap:g}"
        matched = float((errors <= limits["atol"] + limits["rtol"] * y.abs()).float().mean())
        if matched < limits["matched"]:
            needed = limits["matched"]
            return f"output {index} has {matched:.4%} of its elements within the tolerance; {needed:.4%} must be"
    return None


def outputs_of(outputs: Any) -> list[torch.Tensor]:
    return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)


if HAS_CAPS:
    check = checked_with_cap
