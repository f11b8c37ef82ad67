"""load_inline and load in a submission child: what the build lane compiled, found by the call's key and loaded; nothing is compiled here.

A call that the build did not see has no module. Its sources were not judged, and a compiler has no place on a device that others wait for:
so it ends in one sentence.
"""

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import torch

from harness.children.failures import Failed
from harness.children.page import Failure
from harness.extensions.loader_call import Call, replace_loaders

MANIFEST = "kq_extensions.json"  # in the source directory: {"modules": {key: file}}


class Extensions:
    def __init__(self, source: Path, modules: dict[str, str]) -> None:
        self._source = source
        self._modules = modules
        self._loaded: dict[str, Any] = {}

    def module_for(self, call: Call) -> Any:
        key = call.key()
        if key not in self._loaded:
            self._loaded[key] = self.load(call, key)
        return self._loaded[key]

    def load(self, call: Call, key: str) -> Any:
        file = self._modules.get(key)
        if file is None:
            raise Failed(
                Failure.LOAD_FAILED,
                f"{call.place or call.name}: this call of load_inline was not there when the submission was built: make its sources and flags the same "
                "on every run, and call it at import, in ModelNew's constructor or at the start of forward",
            )
        path = str(self._source / file)
        if not call.is_python_module:
            torch.ops.load_library(path)
            return path
        spec = importlib.util.spec_from_file_location(call.name, path)
        if spec is None or spec.loader is None:
            raise Failed(Failure.LOAD_FAILED, f"{call.name}: what was built is no module")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def install(source: Path) -> None:
    """Once, before anything of the submission is imported."""
    manifest = source / MANIFEST
    modules = json.loads(manifest.read_text())["modules"] if manifest.exists() else {}
    if modules or "torch.utils.cpp_extension" in sys.modules:
        replace_loaders(Extensions(source, modules).module_for, source)
