"""The workloads of a problem: the sets of arguments on which a submission must be right, and is timed.

A problem file gives them in one of three ways:

    get_inputs()            one workload, named "default"
    get_input_groups()      a list of lists of forward's arguments: one workload each, named "0", "1", ...
    WORKLOADS               a list of dicts: one workload each, which is passed by keyword to get_inputs(), and to
                            get_init_inputs() those of its entries that it takes

An entry "name", "weight" or "tolerance" of a dict describes the workload itself, unless get_inputs() has a parameter of
that name. Without a name the workload has its values as a name, "n=1024:dtype=float16". The weight, 1 unless given, is
that of the workload's time in the job's time; a workload of weight 0 is checked and not timed. The tolerance goes
before TOLERANCE of the file (tolerance.py).
"""

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from harness.children.failures import Failed
from harness.children.page import WORKLOADS_MAX, Failure, WorkloadDesc

NAME_BYTES_MAX = WorkloadDesc.name.size - 1
DEFAULT = "default"


@dataclass(frozen=True)
class Workload:
    """One set of arguments. The functions draw anew at every call."""

    name: str
    get_inputs: Callable[[], Any]
    get_init_inputs: Callable[[], Any]
    weight: float = 1.0
    tolerance: Any = None  # as TOLERANCE of the file


@functools.lru_cache(maxsize=1)
def workloads_of(module: ModuleType, file: str) -> list[Workload]:
    """Returns the workloads that a problem file defines. Raises Failed with a sentence about the file. The list is
    kept, because each workload of a job is loaded several times.
    """
    get_init_inputs = getattr(module, "get_init_inputs", list)
    if hasattr(module, "WORKLOADS"):
        workloads = _from_dicts(module, file, get_init_inputs)
    elif hasattr(module, "get_inputs"):
        return [Workload(DEFAULT, module.get_inputs, get_init_inputs)]
    elif hasattr(module, "get_input_groups"):
        workloads = _from_groups(module, file, get_init_inputs)
    else:
        raise AttributeError(f"{file} defines no get_inputs")
    if not 1 <= len(workloads) <= WORKLOADS_MAX:
        raise _error(f"{file} defines {len(workloads)} workloads; 1 to {WORKLOADS_MAX} are possible")
    names = [workload.name for workload in workloads]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise _error(f"{file}: two workloads are named {name!r}; each needs a name of its own")
    return workloads


def fill_table(table: Any, workloads: list[Workload]) -> None:
    """Describes the workloads in the page's table."""
    for entry, workload in zip(table, workloads):
        entry.name = workload.name.encode(errors="replace")[:NAME_BYTES_MAX]
        entry.weight = workload.weight


def _from_groups(module: ModuleType, file: str, get_init_inputs: Callable[[], Any]) -> list[Workload]:
    groups = module.get_input_groups()
    if not isinstance(groups, (list, tuple)):
        raise _error(
            f"{file}: get_input_groups() returned a {type(groups).__name__}; it returns a list of lists of arguments"
        )

    def inputs_of(i: int) -> Callable[[], Any]:
        return lambda: module.get_input_groups()[i]

    return [Workload(str(i), inputs_of(i), get_init_inputs) for i in range(len(groups))]


def _from_dicts(module: ModuleType, file: str, get_init_inputs: Callable[..., Any]) -> list[Workload]:
    if not hasattr(module, "get_inputs"):
        raise AttributeError(f"{file} defines no get_inputs")
    if not isinstance(module.WORKLOADS, (list, tuple)):
        raise _error(f"{file}: WORKLOADS is a {type(module.WORKLOADS).__name__}; it is a list of dicts")
    return [_from_dict(entry, i, module.get_inputs, get_init_inputs, file) for i, entry in enumerate(module.WORKLOADS)]


def _from_dict(
    entry: Any, index: int, get_inputs: Callable[..., Any], get_init_inputs: Callable[..., Any], file: str
) -> Workload:
    if not isinstance(entry, Mapping) or not all(isinstance(key, str) for key in entry):
        raise _error(f"{file}: WORKLOADS[{index}] is a {type(entry).__name__}; it is a dict with names as keys")
    arguments = dict(entry)
    taken = _parameters(get_inputs)
    name = arguments.pop("name") if "name" in arguments and "name" not in taken else None
    tolerance = arguments.pop("tolerance") if "tolerance" in arguments and "tolerance" not in taken else None
    weight = arguments.pop("weight") if "weight" in arguments and "weight" not in taken else 1.0
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < math.inf:
        raise _error(f"{file}: WORKLOADS[{index}] has the weight {weight!r}; a weight is a number from 0 on")
    text = str(name) if name is not None else ":".join(f"{key}={_short(value)}" for key, value in arguments.items())
    if not text.strip() or not text.isprintable():
        raise _error(f"{file}: WORKLOADS[{index}] has the name {text!r}; a name is printable text")
    init_names = arguments.keys() if _takes_any(get_init_inputs) else _parameters(get_init_inputs)
    init_arguments = {key: value for key, value in arguments.items() if key in init_names}
    return Workload(
        _fitting(text, index),
        lambda: get_inputs(**arguments),
        lambda: get_init_inputs(**init_arguments),
        float(weight),
        tolerance,
    )


def _parameters(function: Callable[..., Any]) -> set[str]:
    """Returns the names of the parameters that can be passed by keyword."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return set()
    return {parameter.name for parameter in parameters if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY}


def _takes_any(function: Callable[..., Any]) -> bool:
    """Returns whether the function has a parameter like **kwargs."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)


def _short(value: Any) -> str:
    return str(value).removeprefix("torch.")


def _fitting(name: str, index: int) -> str:
    """Returns the name, or where it is too long its beginning and the workload's number."""
    if len(name.encode(errors="replace")) <= NAME_BYTES_MAX:
        return name
    number = f"...#{index}"
    return name.encode(errors="replace")[: NAME_BYTES_MAX - len(number)].decode(errors="ignore") + number


def _error(text: str) -> Failed:
    return Failed(Failure.PROBLEM_INVALID, text)
