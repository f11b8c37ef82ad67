"""A problem that is a definition of flashinfer-bench or SOL-ExecBench with its workloads.

kq-submit puts a line GIVEN = "..." in front of this text, with a JSON object:

    definition    the definition as its file has it
    workloads     the workloads, in the order of their file

Random inputs are drawn anew for each trial: floats from the normal distribution, those of weights divided by the
square root of their last size; float8 within -2 and 2; integers from -1024 to 1023, int8 from its whole range. What
custom_inputs_entrypoint makes is made anew, too.
"""

import ast
import json
import linecache
import math
import operator
import types
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


WORKLOADS = [
    {"number": number, "name": str(workload["uuid"]), "tolerance": tolerance_of(workload)}
    for number, workload in enumerate(GIVEN["workloads"])
]


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.run = reference().run

    def forward(self, *inputs: Any) -> Any:
        return self.run(*inputs)


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
        else:
            inputs.append(drawn(name, shape_of(one, sizes), getattr(torch, one["dtype"])))
    return inputs


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
