"""The calls of a suite; the Python twin of producer/formats/backendbench/suite.cc."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kq.backendbench import record
from kq.errors import BadInput

SUITES = ("smoke", "torchbench", "opinfo", "facto")
SMOKE = (("((T([2], f32),), {})", "correctness"), ("((T([1024, 1024], f32),), {})", "performance"))
COUNTED = re.compile(r"cnt: [0-9]+,\s*(.*)")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
BYTES = {"complex128": 16, "complex64": 8, "float64": 8, "int64": 8, "float32": 4, "int32": 4, "complex32": 4}
BYTES |= {"float16": 2, "bfloat16": 2, "int16": 2, "int8": 1, "uint8": 1, "bool": 1}


@dataclass(frozen=True)
class Call:
    """One call of an operator: "add.Tensor", the record of its arguments, and the tests that it stands for."""

    op: str
    args: str
    test: str = "both"  # "correctness", "performance" or "both"

    @property
    def is_timed(self) -> bool:
        return self.test != "correctness"

    @property
    def uuid(self) -> str:
        """BackendBench's name of the call."""
        return hashlib.sha256(f"{self.args}aten.{self.op}".encode()).hexdigest()


def op_name(written: str) -> str:
    """Returns "add.Tensor" of "aten.add.Tensor", "aten::add.Tensor" or "torch.ops.aten.add.Tensor". Raises BadInput."""
    parts = written.removeprefix("torch.ops.").replace("::", ".", 1).split(".")
    if not all(NAME.fullmatch(part) for part in parts) or len(parts) > 3:
        raise BadInput(f"{written!r} is no name of an operator, such as aten.add.Tensor")
    if parts[0] == "aten" and len(parts) > 1:
        parts = parts[1:]
    name = ".".join(parts if len(parts) > 1 else [*parts, "default"])
    return "sum.dim_IntList" if name == "sum.SymInt" else name


def folder_name(op: str) -> str:
    return op.replace(".", "__")


def calls_of(
    suite: str, ops: Sequence[str] | None = None, trace: str | Path | None = None, topn: int | None = None
) -> list[Call]:
    """Returns the calls of a suite, sorted by operator. `ops` and `topn` are --ops and --topn-inputs of kq sweep.

    Raises BadInput for an unknown suite, and with the place for what is wrong in the trace.
    """
    if suite not in SUITES:
        raise BadInput(f"suite must be one of {', '.join(SUITES)}, got {suite!r}")
    if suite == "smoke":
        return [Call("relu.default", args, test) for args, test in SMOKE if _is_wanted(suite, ops, "relu.default")]
    if trace is None:
        raise BadInput(f"suite {suite} needs trace=FILE, a trace or JSON Lines with the calls")
    test = "both" if suite == "torchbench" else "correctness"
    calls = dict.fromkeys(
        Call(op, args, test) for op, args in _read(Path(trace), suite, ops) if _is_wanted(suite, ops, op)
    )
    if suite != "torchbench":
        return sorted(calls, key=lambda call: call.op)
    by_size = sorted(calls, key=lambda call: (tensor_bytes(call.args), call.args), reverse=True)
    kept: dict[str, list[Call]] = {}
    for call in by_size:
        kept.setdefault(call.op, []).append(call)
    return [call for op in sorted(kept) for call in kept[op][:topn]]


def _is_wanted(suite: str, ops: Sequence[str] | None, op: str) -> bool:
    if not ops:
        return True
    if suite == "torchbench":
        return any(wanted in f"aten.{op}" for wanted in ops)
    return any(wanted == op.rpartition(".")[0] or op_name(wanted) == op for wanted in ops)


def _read(path: Path, suite: str, ops: Sequence[str] | None) -> list[tuple[str, str]]:
    if path.suffix not in (".txt", ".jsonl"):
        raise BadInput(f"{path}: expected a trace, NAME.txt, or JSON Lines, NAME.jsonl")
    calls = []
    op = None
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    for number, line in enumerate(lines, 1):
        try:
            if path.suffix == ".jsonl":
                calls += _of_json(line)
            elif line.startswith("Operator: "):
                op = op_name(line.removeprefix("Operator: ").strip())
            elif counted := COUNTED.fullmatch(line):
                if op is None:
                    raise BadInput("a call stands before the first line 'Operator: NAME'")
                calls.append((op, counted[1].strip()))
        except BadInput as error:
            raise BadInput(f"{path}:{number}: {error}") from None
    return calls


def _of_json(line: str) -> list[tuple[str, str]]:
    if not line.strip():
        return []
    try:
        given: Any = json.loads(line)
    except ValueError as error:
        raise BadInput(str(error)) from None
    if not isinstance(given, dict) or not all(isinstance(given.get(key), str) for key in ("op_name", "args")):
        raise BadInput("expected an object with the texts op_name and args")
    return [] if given.get("included_in_benchmark") is False else [(op_name(given["op_name"]), given["args"])]


def tensor_bytes(args: str) -> int:
    """Returns the bytes of all tensors of a record, each as if it were contiguous. Raises BadInput."""
    positional, named = record.parse(args)
    return sum(map(_bytes_of, [*positional, *named.values()]))


def _bytes_of(value: Any) -> int:
    if not isinstance(value, dict):
        return 0
    if "tensor" in value:
        size = BYTES[value["dtype"]]
        for length in value["tensor"]:
            size *= length
        return size
    return sum(map(_bytes_of, value.get("list") or value.get("tuple") or []))
