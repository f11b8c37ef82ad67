"""Finds which of the things that a problem forbids a submission uses. This module runs in a submission child.

Two of the trials, at random places, are calls under torch's recorder of operators, which changes nothing for the code
that it watches: all operators of this thread are seen, whether called from Python, from C++ or from what torch.compile
has made. A submission does not know beforehand which calls these are. The submission is called twice more, after all of
its trials, and nothing judges what these calls return:

    1. under the same recorder
    2. under torch's modes, which tell the line of each call and see functions that have no operator of their name.
       torch.compile steps aside for them, and a failure under them does not count

Everything is recorded and nothing is raised, so a submission that catches exceptions hides nothing. Code of the
submission shares the process and could hide its calls in other threads; a finding is evidence, its absence is not.
"""

import contextlib
import mmap
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode

from harness.extensions.manifest import Manifest
from harness.problem.forbidden import Forbidden, operator_names

# The interpreter of triton moves data with torch's operators while it runs a kernel.
INTERPRETER = "kq: triton's interpreter"
INTERPRETER_FILES = "/triton/runtime/"


class ForbiddenCalls:
    """What one submission was found to use."""

    CALLS = 2  # of watch()

    def __init__(self, forbidden: Forbidden, source: Path) -> None:
        self._forbidden = forbidden
        self._source = f"{source}/"
        self._found: dict[str, str] = {}  # a sentence's rest, "calls aten::mm", -> the place of the first call

    def look_at_libraries(self, built: Path) -> None:
        """Looks for forbidden libraries in what the build has compiled. No code of the submission runs."""
        for file in sorted(set(Manifest.read(built).modules.values())):
            for library in self._forbidden.libraries:
                if word := word_of_library(built / file, library):
                    self._found.setdefault(f"links {library}: its extension {file} names {word}", "")

    def watch(self, call: Callable[[], Any]) -> None:
        """Makes the two calls. Raises what the first one raises."""
        with self.operators_noted():
            call()
        with contextlib.suppress(BaseException), _Functions(self), _operators(self), self._modules():
            call()
        for package in self._forbidden.packages:
            owner, _, name = package.rpartition(".")
            if any(module == package or module.startswith(f"{package}.") for module in sys.modules):
                self._found.setdefault(f"imports {package}", "")
            elif owner in sys.modules and hasattr(sys.modules[owner], name):
                self._found.setdefault(f"imports {owner}, which has {name}", "")

    @contextlib.contextmanager
    def operators_noted(self) -> Iterator[None]:
        """Notes the forbidden operators that this thread calls meanwhile, and changes nothing for the code."""
        with _recorded(self._note_operator), _interpreter_marked():
            yield

    def sentence(self) -> str:
        """Returns "calls aten::mm (new.py:12)" about the first thing found, one with a place if there is any."""
        for what, place in sorted(self._found.items(), key=lambda item: not item[1]):
            return f"{what} ({place})" if place else what
        return ""

    def _note_operator(self, name: str) -> None:
        if self._forbidden.has_operator(name):
            self._found.setdefault(f"calls {name.partition('.')[0]}", "")

    def note_operator(self, name: str) -> None:
        if self._forbidden.has_operator(name):
            self._note(f"calls {name.partition('.')[0]}")

    def note_function(self, function: Any) -> None:
        is_named = _is_in(function, self._forbidden.functions)
        if is_named or any(self._forbidden.has_operator(name) for name in operator_names(function)):
            self._note(f"calls {resolve_name(function) or function}")

    def _note(self, what: str) -> None:
        frame = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if INTERPRETER_FILES in file:
                return
            if file.startswith(self._source):
                place = f"{file.rpartition('/')[2]}:{frame.f_lineno}"
                if not self._found.get(what):
                    self._found[what] = place
                return
            frame = frame.f_back  # type: ignore[assignment]
        self._found.setdefault(what, "")

    @contextlib.contextmanager
    def _modules(self) -> Iterator[None]:
        """Notes calls of modules, and of the method forward of their classes."""
        kept = [(kind, kind.forward) for kind in self._forbidden.modules if "forward" in vars(kind)]

        def noted(kind: type[torch.nn.Module], forward: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                self._note(f"calls {_path_of(kind)}")
                return forward(*args, **kwargs)

            return call

        def hook(module: torch.nn.Module, _: Any) -> None:
            for kind in self._forbidden.modules:
                if isinstance(module, kind):
                    self._note(f"calls {_path_of(kind)}")

        handle = torch.nn.modules.module.register_module_forward_pre_hook(hook)
        try:
            for kind, forward in kept:
                kind.forward = noted(kind, forward)  # type: ignore[method-assign]
            yield
        finally:
            handle.remove()
            for kind, forward in kept:
                kind.forward = forward  # type: ignore[method-assign]


class _Functions(TorchFunctionMode):
    def __init__(self, calls: ForbiddenCalls) -> None:
        super().__init__()
        self._calls = calls

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._calls.note_function(func)
        return func(*args, **(kwargs or {}))


def _operators(calls: ForbiddenCalls) -> TorchDispatchMode:
    is_compiler_loaded = "torch._dynamo" in sys.modules

    class Operators(TorchDispatchMode):
        supports_higher_order_operators = True

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # Where torch.compile is not in use, torch would import it only to leave this class out, in some seconds.
            return is_compiler_loaded

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if isinstance(func, torch._ops.OpOverload):
                calls.note_operator(func.name())
            return func(*args, **(kwargs or {}))

    return Operators()


@contextlib.contextmanager
def _recorded(note: Callable[[str], None]) -> Iterator[None]:
    """Notes the names of all operators that this thread calls, except those of triton's interpreter. The recorder is
    the one of torch's profiler that reads no clock of a GPU and starts no library of NVIDIA.
    """
    from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig
    from torch.autograd import _disable_profiler_legacy, _enable_profiler_legacy

    flags = (False,) * 5
    _enable_profiler_legacy(ProfilerConfig(ProfilerState.CPU, *flags, _ExperimentalConfig()))
    try:
        yield
    finally:
        for thread in _disable_profiler_legacy():
            ranges: list[str] = []
            for event in thread:
                if event.kind() == "push":
                    ranges.append(event.name())
                    if INTERPRETER not in ranges:
                        note(event.name())
                elif event.kind() == "pop" and ranges:
                    ranges.pop()


@contextlib.contextmanager
def _interpreter_marked() -> Iterator[None]:
    """Marks the time in which triton's interpreter runs a kernel."""
    if "triton.runtime.interpreter" not in sys.modules:
        yield
        return
    executor = sys.modules["triton.runtime.interpreter"].GridExecutor
    run = executor.__call__

    def marked(*args: Any, **kwargs: Any) -> Any:
        with torch.autograd.profiler.record_function(INTERPRETER):
            return run(*args, **kwargs)

    executor.__call__ = marked
    try:
        yield
    finally:
        executor.__call__ = run


def word_of_library(path: Path, library: str) -> str:
    """Returns the first name in a compiled file by which it uses a library: "libcublas.so.12" or "cublasSgemm_v2".
    Returns an empty text where there is none.
    """
    word = re.escape(library.encode())
    # A name of a linked library, of a function of it, or of a library that is opened at run time.
    pattern = re.compile(rb"(?<=\0)(lib%b[\w.]*\.so[\w.]*|%b[A-Z]\w*)(?=\0)" % (word, word))
    if path.stat().st_size == 0:
        return ""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = pattern.search(content)
        return found[1].decode() if found else ""


def _is_in(function: Any, functions: set[Any]) -> bool:
    try:
        return function in functions
    except TypeError:  # an object without a hash
        return False


def _path_of(kind: type) -> str:
    """Returns torch.nn.Linear for the class, whose own name is torch.nn.modules.linear.Linear."""
    is_public = getattr(torch.nn, kind.__name__, None) is kind
    return f"torch.nn.{kind.__name__}" if is_public else f"{kind.__module__}.{kind.__qualname__}"
