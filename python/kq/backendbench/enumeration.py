"""Writes the calls of torch's OpInfo samples, or of FACTO's specifications, as a trace.

A sample is kept if it dispatches exactly one operator of aten, and if that call computes what the sample computes. The
module imports torch; FACTO's package must be installed for its suite.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from kq.backendbench.record import DTYPES
from kq.errors import BadInput

FACTO_TUPLES_MAX = 10  # argument tuples of one specification, as in BackendBench


def write(arguments: Sequence[Any], named: dict[str, Any]) -> str | None:
    """Returns the record of a call, or None where an argument has no form in a record."""
    import torch

    short = {getattr(torch, name): word for word, name in DTYPES.items()}

    def text(value: Any) -> str | None:
        if isinstance(value, torch.Tensor):
            if value.dtype not in short or value.layout is not torch.strided:
                return None
            strides = "" if value.is_contiguous() else f", {list(value.stride())}"
            return f"T({list(value.shape)}, {short[value.dtype]}{strides})"
        if isinstance(value, (list, tuple)):
            parts = [text(one) for one in value]
            if None in parts:
                return None
            inside = ", ".join(part for part in parts if part is not None)
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
        if value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.layout, torch.memory_format)):
            return repr(value)
        return f"torch.device({str(value)!r})" if isinstance(value, torch.device) else None

    positional = text(tuple(arguments))
    members = {name: text(value) for name, value in named.items()}
    if positional is None or None in members.values():
        return None
    return f"({positional}, {{{', '.join(f'{name!r}: {value}' for name, value in members.items())}}})"


def opinfo(ops: Sequence[str] | None, device: str, dtype: str) -> Iterator[tuple[str, str]]:
    """Yields (operator, record) of the samples of torch's op_db."""
    import torch

    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        raise BadInput(f"suite opinfo needs the package {error.name}: pip install {error.name}") from None
    kind = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype):
        raise BadInput(f"dtype must be the name of a dtype of torch, such as bfloat16, got {dtype!r}")
    for info in op_db:
        if "." in info.name and "nn.functional" not in info.name:
            continue
        if kind not in info.supported_dtypes(torch.device(device).type):
            continue
        if not ops or _bases(ops) & {info.aten_name, info.name.rpartition(".")[2]}:
            yield from _samples(info, ops, device, kind)


def _bases(ops: Sequence[str]) -> set[str]:
    """Returns the names of operators without overloads, and without the underscore of those that work in place."""
    return {name for op in ops for name in (op.partition(".")[0], op.partition(".")[0].removesuffix("_"))}


def _samples(info: Any, ops: Sequence[str] | None, device: str, kind: Any) -> Iterator[tuple[str, str]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            samples = list(info.sample_inputs(device, kind))
    except Exception:  # a sample that this torch or device cannot make is none
        return
    for sample in samples:
        call = _single_call(partial(info.op, sample.input, *sample.args, **sample.kwargs))
        if call is None:
            continue
        op, record = call
        if not ops or op in ops or op.rpartition(".")[0] in ops:
            yield op, record


def facto(ops: Sequence[str] | None, device: str, dtype: str) -> Iterator[tuple[str, str]]:
    """Yields (operator, record) of FACTO's argument tuples."""
    try:
        from facto.inputgen.argtuple.gen import ArgumentTupleGenerator
        from facto.specdb.db import SpecDictDB
    except ImportError:
        raise BadInput("suite facto needs the package facto, which is installed from its sources") from None
    for name, spec in SpecDictDB.items():
        base = name.removesuffix(".default")
        if ops and name not in ops and base not in ops:
            continue
        operator = _operator(name)
        for number, (positional, named, out) in enumerate(ArgumentTupleGenerator(spec).gen()):
            if number == FACTO_TUPLES_MAX:
                break
            call = _single_call(partial(operator, *positional, **named, **out))
            if call is not None:
                yield call


def _operator(name: str) -> Any:
    import torch

    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def _single_call(function: Any) -> tuple[str, str] | None:
    """Returns the operator that a function dispatches and the record of its arguments, if it is exactly one and gives
    the function's result.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    calls: list[tuple[Any, str | None, Any]] = []

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            record = write(args, kwargs or {})  # before the call, which may change its arguments
            result = op(*args, **(kwargs or {}))
            calls.append((op, record, result))
            return result

    try:
        with warnings.catch_warnings(), Recorder():
            warnings.simplefilter("ignore")
            result = function()
    except Exception:  # a sample that fails is none
        return None
    if len(calls) != 1 or calls[0][1] is None or not str(calls[0][0]).startswith("aten."):
        return None
    try:
        torch.testing.assert_close(result, calls[0][2], equal_nan=True, rtol=0, atol=0)
    except Exception:  # results that cannot be compared, or differ
        return None
    return str(calls[0][0]).removeprefix("aten."), calls[0][1]
