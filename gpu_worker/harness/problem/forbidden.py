"""FORBIDDEN of a problem file: what a submission may not use.

    FORBIDDEN = [
        "aten::mm",                       an operator, with all of its overloads, also where it works in place
        "aten::mm.out",                   one overload of an operator
        "torch.nn.functional.conv2d",     a function or a method of a tensor, and the operator of its name: aten::conv2d
        "torch.nn.Linear",                a module that is called, or one derived from it
        "cublas",                         a library that an extension links or names
    "flashinfer.gemm",                a Python module, with those below it, that the submission's process imports, or
                                      a name in such a module
    ]

The file's text is part of the problem's identity, and so is this list. forbidden_calls.py finds what is used.
"""

import importlib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch
from torch.overrides import get_testing_overrides

from harness.children.failures import Failed
from harness.children.page import Failure

ENTRIES_MAX = 256
SHORT_NAMES = {"F": "torch.nn.functional", "nn": "torch.nn", "Tensor": "torch.Tensor"}
PRELOADED = (
    "torch",
    "triton",
    "numpy",
)  # kq imports these itself, so that their modules say nothing about a submission
LIBRARIES = ("cublas", "cudnn", "cufft", "curand", "cusolver", "cusparse", "cutensor", "nccl")
KINDS = (
    'operators ("aten::mm"), functions and modules of torch ("torch.nn.functional.conv2d", "torch.nn.Linear"), '
    'Python modules ("flashinfer.gemm") and libraries (' + ", ".join(LIBRARIES) + ")"
)


@dataclass
class Forbidden:
    """What the entries of a file mean."""

    operators: set[str] = field(default_factory=set)  # "aten::mm", without overload and trailing underscore
    overloads: set[str] = field(default_factory=set)  # "aten::mm.out", "aten::mm.default"
    functions: set[Any] = field(default_factory=set)
    modules: list[type[torch.nn.Module]] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)  # Python modules

    def has_operator(self, name: str) -> bool:
        """Returns whether an operator is forbidden: "aten::mm", "aten::mm.out", or "aten::mm_" for one in place."""
        base, _, overload = name.partition(".")
        return base.removesuffix("_") in self.operators or f"{base}.{overload or 'default'}" in self.overloads


def forbidden_of(module: ModuleType, file: str) -> Forbidden | None:
    """Returns what a problem file forbids, or None without FORBIDDEN. Raises Failed with a sentence about an entry that
    names nothing of which calls can be seen.
    """
    entries = getattr(module, "FORBIDDEN", None)
    if entries is None:
        return None
    if not isinstance(entries, (list, tuple, set, frozenset)) or not all(isinstance(x, str) for x in entries):
        raise _error(f"{file}: FORBIDDEN is {entries!r}; it is a list of names: {KINDS}")
    if len(entries) > ENTRIES_MAX:
        raise _error(f"{file}: FORBIDDEN has {len(entries)} entries; at most {ENTRIES_MAX} are possible")
    forbidden = Forbidden()
    for entry in entries:
        if not _add(forbidden, entry):
            raise _error(f"{file}: FORBIDDEN names {entry!r}, of which no call could be seen; possible are {KINDS}")
    return forbidden


def operator_names(function: Any) -> list[str]:
    """Returns the operator that has the name of a function or method of torch: "aten::add" for Tensor.__add__. Returns
    an empty list where there is none.
    """
    name = getattr(function, "__name__", "")
    names = [f"aten::{one}" for one in (name, name.strip("_")) if one]
    return [one for one in names if _schemas(one)][:1]


def _add(forbidden: Forbidden, entry: str) -> bool:
    """Adds what an entry names. Returns False where it names nothing known."""
    if entry.lower() in LIBRARIES:
        forbidden.libraries.append(entry.lower())
        return True
    if "::" in entry:
        return _add_operator(forbidden, entry)
    names = entry.split(".")
    names = SHORT_NAMES.get(names[0], names[0]).split(".") + names[1:]
    if names[0] not in PRELOADED and all(name.isidentifier() for name in names) and not _is_short_for_torch(names):
        forbidden.packages.append(entry)
        return True
    value = _resolved(names)
    if isinstance(value, torch._ops.OpOverload):
        return _add_operator(forbidden, f"{value.overloadpacket._qualified_op_name}.{value._overloadname}")
    if isinstance(value, torch._ops.OpOverloadPacket):
        return _add_operator(forbidden, value._qualified_op_name)
    if inspect.isclass(value):
        if issubclass(value, torch.nn.Module):
            forbidden.modules.append(value)
        return issubclass(value, torch.nn.Module)
    operators = operator_names(value) if callable(value) else []
    forbidden.operators.update(name.removesuffix("_") for name in operators)
    can_be_seen = callable(value) and value in get_testing_overrides()
    if can_be_seen:
        forbidden.functions.add(value)
    return bool(operators) or can_be_seen


def _is_short_for_torch(names: Sequence[str]) -> bool:
    """Returns whether this is one word that torch knows, "conv2d" or "Linear", which must be written in full."""
    owners = (torch, torch.nn, torch.nn.functional, torch.Tensor)
    return len(names) == 1 and any(hasattr(owner, names[0]) for owner in owners)


def _add_operator(forbidden: Forbidden, entry: str) -> bool:
    name, _, overload = entry.partition(".")
    schemas = _schemas(name)
    if not overload:
        forbidden.operators.add(name.removesuffix("_"))
        return bool(schemas)
    forbidden.overloads.add(entry)
    return any((schema.overload_name or "default") == overload for schema in schemas)


def _schemas(name: str) -> Sequence[Any]:
    try:
        return list(torch._C._jit_get_schemas_for_operator(name))
    except RuntimeError:
        return []


def _resolved(names: Sequence[str]) -> Any:
    """Returns what a dotted name below torch is, or None."""
    if names[0] != "torch" or not all(name.isidentifier() for name in names):
        return None
    value: Any = torch
    for i, name in enumerate(names[1:], start=2):
        if not hasattr(value, name) and isinstance(value, ModuleType):
            try:
                importlib.import_module(".".join(names[:i]))
            except ImportError:
                return None
        value = getattr(value, name, None)
    return value


def _error(text: str) -> Failed:
    return Failed(Failure.PROBLEM_INVALID, text)
