"""load_inline and load in a submission child. They load the module that the build lane compiled, which is found by the
call's key; nothing is compiled here. A call that the build lane found not to compile raises what torch raises.

A call that the build did not see has no module: the guard has not judged its sources, and a compiler must not run while
the job holds a GPU. Such a call ends the job with a sentence for the submitter, even if the submission catches what the
call raises: otherwise the submission would run without its kernel, and its result would not say so.
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import torch

from harness.children.failures import Failed
from harness.children.job import Job
from harness.children.page import Failure
from harness.extensions.loader_call import Call, replace_loaders
from harness.extensions.manifest import Manifest

_loaded: list[Any] = []  # the modules that this process has loaded; the path of a library that is no module
_refusals: list[Failed] = []  # what this process refused; at most one is kept
_is_installed = False  # set once torch's loaders are replaced


class Extensions:
    """Serves the loader calls of one process from the manifest of the build."""

    def __init__(self, built: Path, manifest: Manifest) -> None:
        self._built = built
        self._manifest = manifest
        self._loaded: dict[str, Any] = {}

    def module_for(self, call: Call) -> Any:
        """Returns the module of a call. Raises torch's errors, or Failed for what the build does not have."""
        key = self._manifest.key_of(call)
        if key is None:
            raise refused(
                f"{call.place or call.name}: this call of load_inline was not there when the submission was built: "
                "make its sources and flags the same on every run, "
                "and call it at import, in ModelNew's constructor or at the start of forward"
            )
        if (error := self._manifest.error_of(call, key)) is not None:
            raise error
        if key not in self._loaded:
            self._loaded[key] = self.load(call, key)
            _loaded.append(self._loaded[key])
        return self._loaded[key]

    def load(self, call: Call, key: str) -> Any:
        path = str(self._built / self._manifest.modules[key])
        if not call.is_python_module:
            torch.ops.load_library(path)
            return path
        name = self._manifest.names.get(key, call.name)
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise refused(f"{call.name}: what was built is no module")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def refused(text: str) -> Failed:
    """Returns the failure of a call that is not served here, and keeps it for check_refusals()."""
    failure = Failed(Failure.LOAD_FAILED, text)
    if not _refusals:
        _refusals.append(failure)
    return failure


def check_refusals() -> None:
    """Raises the first failure that refused() made, which the submission may have caught."""
    if _refusals:
        raise _refusals[0]


def loaded() -> list[Any]:
    """Returns what load_inline and load have returned in this process: modules, and paths of other libraries."""
    return list(_loaded)


def install(job: Job) -> None:
    """Replaces torch's loaders, before any code of the submission is imported. Does nothing where this process has
    replaced them for an earlier workload.
    """
    global _is_installed
    if _is_installed:
        return
    manifest = Manifest.read(job.given)
    if manifest.modules or manifest.failed or "torch.utils.cpp_extension" in sys.modules:
        replace_loaders(Extensions(job.given, manifest).module_for, job.source, refused)
        _is_installed = True
