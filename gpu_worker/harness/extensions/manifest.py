"""The manifest of a build's extensions: which library each recorded call of load_inline or load has, and which calls do
not compile.

The worker writes it beside the submission's files as kq_extensions.json, for the submission child and for every run of
the tracing child after the first one:

    modules   {key of a call: file of its library}
    names     {key of a call: name with which the library was compiled}
    similar   {hash of a call without its name: key of the first call that has it}
    failed    {key of a call: {"kind": "build", "text": what the compilers printed, ...}}, or the kind "load" and what
              loading the library fails with; a call whose arguments torch does not take has the kind "arguments", a
              key that no call has, and raises by itself

A submission may put a random number, a process id or the time into an extension's name. Such a call has another key in
every process, and is found by everything but its name.
"""

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.extensions.loader_call import Call

MANIFEST = "kq_extensions.json"


@dataclass
class Manifest:
    """What a build knows of the calls of a submission."""

    modules: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    similar: dict[str, str] = field(default_factory=dict)
    failed: dict[str, dict[str, Any]] = field(default_factory=dict)

    @staticmethod
    def read(source: Path) -> "Manifest":
        """Reads the manifest in the folder of the submission's files. Returns an empty one where there is none."""
        path = source / MANIFEST
        read = json.loads(path.read_text()) if path.exists() else {}
        return Manifest(**{name: read.get(name, {}) for name in ("modules", "names", "similar", "failed")})

    def key_of(self, call: Call) -> str | None:
        """Returns the key with which the build recorded the call, or None for a call that the build did not see."""
        key = call.key()
        if key in self.modules or key in self.failed:
            return key
        return self.similar.get(call.similar_key())

    def error_of(self, call: Call, key: str) -> Exception | None:
        """Returns what torch raises for a call that does not compile, or None if the call compiles."""
        failure = self.failed.get(key)
        if failure is None:
            return None
        text = str(failure.get("text", ""))
        if failure.get("kind") == "load":
            return load_error(call, text)
        return build_error(call.name, text)


def build_error(name: str, output: str) -> RuntimeError:
    """Returns the error that torch raises for an extension that its compilers refuse."""
    cause = subprocess.CalledProcessError(1, ["ninja", "-v"], output=output.encode(errors="replace"))
    error = RuntimeError(f"Error building extension '{name}': {output}")
    error.__cause__ = cause
    return error


def load_error(call: Call, text: str) -> Exception:
    """Returns the error that torch raises for an extension whose library does not load."""
    path = f"{call.name}.so"
    if call.is_python_module:
        return ImportError(text, name=call.name, path=path)
    error = OSError(f"Could not load this library: {path}")
    error.__cause__ = OSError(text)
    return error
