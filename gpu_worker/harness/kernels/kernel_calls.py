"""Finds out whether a submission calls the kernels that it brings: @triton.jit functions of its files, and functions of
the extensions that it has loaded. Only the first calls of a submission are watched, none that is timed.

A submission that calls none of them computes with something else, for example with torch in a fallback. The finding is
a hint for people: code of the submission shares the process.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import Any

NAMES_MAX = 4  # in a text

_harness_modules = 0  # how many of the loaded modules, from the first one on, are none of the submission's


class KernelCalls:
    """The kernels of one submission that is loaded."""

    CALLS = 2  # the calls that are watched

    def __init__(self, source: Path, extensions: list[Any]) -> None:
        """`extensions` are the modules that load_inline and load have returned."""
        self._names = triton_kernels(f"{source}/")
        self._functions: set[int] = set()
        self._was_called = False
        for module in extensions:
            functions = [f for f in vars(module).values() if isinstance(f, BuiltinFunctionType)] if _is(module) else []
            self._names += [f.__name__ for f in functions]
            self._functions.update(id(f) for f in functions)
            # The functions of another kind of library are called through torch.ops, and classes through their methods.
            self._was_called |= not _is(module) or any(isinstance(x, type) for x in vars(module).values())

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        if self._was_called or not self._names:
            yield
            return
        with contextlib.ExitStack() as stack:
            for owner, name in launchers():
                stack.enter_context(self._noted(owner, name))
            if self._functions:
                stack.enter_context(self._profiled())
            yield

    def words(self) -> str:
        """Returns a text if no kernel was called in the calls that were watched."""
        if self._was_called or not self._names:
            return ""
        more = len(self._names) - NAMES_MAX
        names = ", ".join(self._names[:NAMES_MAX]) + (f" and {more} more" if more > 0 else "")
        return f"the call ran no kernel of the submission's own, which has {names}"

    @contextlib.contextmanager
    def _noted(self, owner: Any, name: str) -> Iterator[None]:
        function: Callable[..., Any] = getattr(owner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self._was_called = True
            return function(*args, **kwargs)

        setattr(owner, name, call)
        try:
            yield
        finally:
            setattr(owner, name, function)

    @contextlib.contextmanager
    def _profiled(self) -> Iterator[None]:
        def note(_frame: Any, event: str, function: Any) -> None:
            if event == "c_call" and id(function) in self._functions:
                self._was_called = True

        kept = sys.getprofile()
        sys.setprofile(note)
        try:
            yield
        finally:
            sys.setprofile(kept)


def note_harness_modules() -> None:
    """Notes which modules are loaded before any code of the submission runs. Its own are loaded after them: to look at
    all modules takes 6 ms in a new process.
    """
    global _harness_modules
    _harness_modules = len(sys.modules)


def _is(module: Any) -> bool:
    return isinstance(module, ModuleType)


def triton_kernels(source: str) -> list[str]:
    """Returns the names of the triton kernels that the files below `source` define."""
    if "triton.runtime.jit" not in sys.modules:
        return []
    from triton.runtime.jit import KernelInterface

    found = []
    for module in list(islice(reversed(sys.modules.values()), max(len(sys.modules) - _harness_modules, 0))):
        if not str(getattr(module, "__file__", None) or "").startswith(source):
            continue
        for name, value in list(vars(module).items()):
            function = value
            while isinstance(function, KernelInterface):
                function = function.fn
            if function is not value and getattr(function, "__module__", "") == module.__name__:
                found.append(name)
    return found


def launchers() -> list[tuple[Any, str]]:
    """Returns the methods of triton through which every launch goes, compiled or interpreted."""
    places = (
        ("triton.runtime.jit", "JITFunction", "run"),
        ("triton.compiler.compiler", "CompiledKernel", "__getitem__"),
        ("triton.runtime.interpreter", "GridExecutor", "__call__"),
    )
    owners = [(getattr(sys.modules.get(module), owner, None), name) for module, owner, name in places]
    return [(owner, name) for owner, name in owners if owner is not None and hasattr(owner, name)]
