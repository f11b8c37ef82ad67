"""Imports the files of problems and submissions. They become real modules, because triton and inspect read their source
files. A submission's file may import the problem's as kq_problem, whatever its name is.
"""

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.children.job import Job
from harness.facts import known_imports
from harness.problem.files_beside import write_files_beside
from harness.problem.forbidden import forbidden_of
from harness.problem.workloads import workloads_of
from harness.sandbox import job_files

PROBLEM_MODULE = "kq_problem"


class Problem:
    """A problem file: class Model, the workloads (workloads.py) and, if the constructor has arguments,
    get_init_inputs(). One of the workloads is the one that is computed. Where the file defines check(inputs, expected,
    got), that function decides whether outputs are right. FORBIDDEN names what a submission may not use;
    OWN_KERNELS = True asks for kernels of the submission's own.
    """

    def __init__(self, path: Path, workload: int = 0) -> None:
        write_files_beside(path)
        self.module = import_file(path)
        self.model_class = attribute(self.module, "Model", path.name)
        self.workloads = workloads_of(self.module, path.name)
        self.workload = self.workloads[workload]
        self.check: Callable[..., Any] | None = getattr(self.module, "check", None)
        self.forbidden = forbidden_of(self.module, path.name)
        self.wants_own_kernels = self.forbidden is not None or getattr(self.module, "OWN_KERNELS", False) is True

    def get_inputs(self) -> Any:
        return self.workload.get_inputs()

    def init_arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Returns the arguments of the constructor, by position and by name. get_init_inputs() returns a list of
        arguments, a dict of named ones, or [arguments, named ones] as in KernelBook.
        """
        given: Any = self.workload.get_init_inputs()
        if isinstance(given, dict):
            return [], dict(given)
        if not isinstance(given, Iterable):
            raise TypeError(
                f"get_init_inputs() returned an object of type {type(given).__name__}; "
                "it returns a list of the constructor's arguments, or a dict of named ones"
            )
        several = list(given)
        if len(several) == 2 and isinstance(several[0], (list, tuple)) and isinstance(several[1], dict):
            if takes_names(self.model_class, several[1]):
                return list(several[0]), dict(several[1])
        return several, {}


def takes_names(model_class: Callable[..., Any], named: dict[Any, Any]) -> bool:
    """Returns whether a constructor has a parameter of each name: if not, the dict is an argument itself."""
    parameters = inspect.signature(model_class).parameters.values()
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    names = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return all(isinstance(name, str) and (takes_any or name in names) for name in named)


class ProblemFinder:
    """Finds the module kq_problem, which is the module of the problem's file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == PROBLEM_MODULE else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        write_files_beside(self._path)
        sys.modules[module.__name__] = import_file(self._path)  # the import system returns what is found here


def import_entry(job: Job) -> ModuleType:
    """Imports the submission's entry file."""
    sys.meta_path.insert(0, ProblemFinder(job.source / job.problem))  # type: ignore[arg-type]
    return import_file(job.source / job.entry)


def import_file(path: Path) -> ModuleType:
    """Imports the file under its own name, or as kq_NAME if that name is taken."""
    name = path.stem if path.stem.isidentifier() and not _is_taken(path.stem) else f"kq_{path.stem}"
    if name in sys.modules and getattr(sys.modules[name], "__file__", None) == str(path):
        return sys.modules[name]
    spec = job_files.spec_of(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    known_imports.provide(module)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _is_taken(name: str) -> bool:
    """Returns whether the name belongs to Python or to an installed module that is loaded: a file of a job must not
    replace such a module. Looking at all installed modules instead would touch memory that a fork then copies.
    """
    return name in sys.stdlib_module_names or (name in sys.modules and not _is_of_the_job(sys.modules[name]))


def _is_of_the_job(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and bool(sys.path) and str(file).startswith(sys.path[0] + "/")


def attribute(module: ModuleType, name: str, file: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{file} defines no {name}")
    return getattr(module, name)


def parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    """Returns names for `count` positional arguments: the names of the function's parameters; for *args its name and a
    number.
    """
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}{i}" for i in range(count - len(names))]
        elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            names.append(parameter.name)
    names += [f"arg{i}" for i in range(len(names), count)]
    return names[:count]
