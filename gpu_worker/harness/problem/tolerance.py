"""The tolerance that a problem file names for its outputs.

    TOLERANCE = 1e-3                                    rtol and atol of every floating-point output
    TOLERANCE = {"rtol": 1e-3, "atol": 1e-5}            one or both; the other one is that of the output's dtype
    TOLERANCE = {"matched": 0.99}                       the share of elements that must be within the tolerance
    TOLERANCE = {"float16": {...}, "out1": {...}, 2: 1e-2}    by dtype, by the name or by the number of an output

An entry for an output goes before one for its dtype. A workload may have a tolerance of its own, in the same forms. It
goes before that of the file. The rtol and atol of a submission go before both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from harness.children.failures import Failed
from harness.children.page import Failure

LIMITS = ("rtol", "atol", "matched")


@dataclass(frozen=True)
class OutputTolerance:
    """The tolerance of one output. None: that of the output's dtype."""

    rtol: float | None = None
    atol: float | None = None
    matched: float = 1.0


def tolerances_of(
    module: ModuleType, file: str, outputs: Sequence[tuple[str, torch.dtype]], of_workload: Any = None, name: str = ""
) -> list[OutputTolerance | None]:
    """Returns the tolerance of each output, which is given by its name and dtype; None where the file names none.
    `of_workload` is the tolerance of the workload of that name, or None. Raises Failed with a sentence about the file.
    """
    general = _of_outputs(getattr(module, "TOLERANCE", None), f"{file}: TOLERANCE", outputs)
    own = _of_outputs(of_workload, f"{file}: the tolerance of workload {name}", outputs)
    return [special or other for special, other in zip(own, general)]


def _of_outputs(given: Any, what: str, outputs: Sequence[tuple[str, torch.dtype]]) -> list[OutputTolerance | None]:
    if given is None:
        return [None] * len(outputs)
    if not isinstance(given, Mapping) or all(key in LIMITS for key in given):
        return [_tolerance(given, what)] * len(outputs)
    entries = {_key(key): _tolerance(value, f"{what}[{key!r}]") for key, value in given.items()}
    known = {_key(key) for i, (name, dtype) in enumerate(outputs) for key in (i, name, dtype)}
    known |= {_key(value) for value in vars(torch).values() if isinstance(value, torch.dtype)}
    for key in entries:
        if key not in known:
            names = ", ".join(name for name, _ in outputs)
            raise _error(f"{what} names {key!r}, which is no dtype and none of the outputs {names}")
    return [
        next((entries[key] for key in (_key(i), _key(name), _key(dtype)) if key in entries), None)
        for i, (name, dtype) in enumerate(outputs)
    ]


def _key(key: Any) -> Any:
    return str(key).removeprefix("torch.") if isinstance(key, (str, torch.dtype)) else key


def _tolerance(given: Any, what: str) -> OutputTolerance:
    if _is_number(given):
        given = {"rtol": given, "atol": given}
    if not isinstance(given, Mapping) or not given or any(key not in LIMITS for key in given):
        raise _error(f"{what} is {given!r}; it is a number, or a dict with rtol, atol and matched")
    for name, value in given.items():
        if not _is_number(value) or not 0 <= value <= 1:
            raise _error(f"{what} has {name} = {value!r}; it is a number from 0 to 1")
    return OutputTolerance(given.get("rtol"), given.get("atol"), given.get("matched", 1.0))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _error(text: str) -> Failed:
    return Failed(Failure.PROBLEM_INVALID, text)
