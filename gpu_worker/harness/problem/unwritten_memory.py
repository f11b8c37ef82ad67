"""Finds elements of a reference's outputs that the reference never writes. torch.empty() and its like return memory
with what was in it before, so such elements may be equal in one call after another by chance.

Only a problem whose code names such a function outside of a constructor is called once more for this, with torch
filling new memory.
"""

import contextlib
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch
from torch.utils import deterministic

MAKERS = frozenset(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ resize_as_".split()
)


def makes_unwritten_memory(module: ModuleType) -> bool:
    """Returns whether the module's functions name a function that makes memory and does not write it. Constructors do
    not count: what they make is written, or is part of the state that both sides share.
    """
    functions = [value for value in vars(module).values() if isinstance(value, FunctionType)]
    for kind in [value for value in vars(module).values() if isinstance(value, type)]:
        functions += [value for value in vars(kind).values() if isinstance(value, FunctionType)]
    own = [function for function in functions if function.__module__ == module.__name__]
    return any(not MAKERS.isdisjoint(_names(f.__code__)) for f in own if f.__name__ != "__init__")


def _names(code: CodeType) -> set[str]:
    return set(code.co_names).union(*(_names(part) for part in code.co_consts if isinstance(part, CodeType)))


@contextlib.contextmanager
def filled_memory() -> Iterator[None]:
    """Lets torch fill new memory: with NaN, the largest integer, or True."""
    kept = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        deterministic.fill_uninitialized_memory,
    )
    try:
        torch._C._set_deterministic_algorithms(True, warn_only=True)
        deterministic.fill_uninitialized_memory = True
        yield
    finally:
        torch._C._set_deterministic_algorithms(kept[0], warn_only=kept[1])
        deterministic.fill_uninitialized_memory = kept[2]


def unwritten_words(name: str, usual: Any, filled: Any) -> str:
    """Returns a text about the elements of an output that only the call in filled_memory() has filled: they hold what
    torch fills memory with, and another value in the usual call. Returns an empty text where there are none.
    """
    if not isinstance(usual, torch.Tensor) or not isinstance(filled, torch.Tensor):
        return ""
    if usual.shape != filled.shape or usual.dtype != filled.dtype or usual.dtype.itemsize < 2:
        return ""
    if usual.is_floating_point() or usual.is_complex():
        found = int((filled.isnan() & ~usual.isnan()).sum())
    else:
        largest = torch.iinfo(usual.dtype).max
        found = int(((filled == largest) & (usual != largest)).sum())
    return f"{found} of {usual.numel()} elements of {name}" if found else ""
