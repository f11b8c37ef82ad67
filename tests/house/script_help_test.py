"""Every program in scripts/ answers --help: it prints a text on standard output, does nothing else, and ends with 0."""

import shlex
import subprocess
from pathlib import Path

from house import Case, files, run

LIMIT_S = 30


def rule(root: Path) -> list[str]:
    complaints = []
    for path in files(root):
        if Path(path).parent != Path("scripts"):
            continue
        interpreter = interpreter_of(root / path)
        if interpreter is None:
            continue
        fault = fault_of([*interpreter, path, "--help"], root)
        if fault:
            complaints.append(f"{path}:1: with --help {fault}; print the help text and do nothing else")
    return complaints


def interpreter_of(path: Path) -> list[str] | None:
    """The words of its first line; None for a file that is not a program."""
    first = path.read_text(errors="replace").split("\n", 1)[0]
    return shlex.split(first[2:]) if first.startswith("#!") else None


def fault_of(command: list[str], root: Path) -> str | None:
    try:
        done = subprocess.run(
            command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return f"it still runs after {LIMIT_S} s"
    if done.returncode != 0:
        return f"it ends with exit code {done.returncode}"
    if not done.stdout.strip():
        return "it prints nothing on standard output"
    return None


CASES = [
    Case("shell", {"scripts/a": '#!/bin/sh\n[ "$1" = --help ] && echo usage\n'}),
    Case("Python", {"scripts/a": "#!/usr/bin/env python3\nimport sys\nprint('usage:', sys.argv[1])\n"}),
    Case("not a program", {"scripts/requirements.txt": "torch\n"}),
    Case("elsewhere", {"tests/a": "#!/bin/sh\nexit 1\n"}),
    Case(
        "fails",
        {"scripts/a": "#!/bin/sh\necho usage\nexit 2\n"},
        ("scripts/a:1: with --help it ends with exit code 2",),
    ),
    Case("on stderr", {"scripts/a": "#!/bin/sh\necho usage >&2\n"}, ("scripts/a:1: with --help it prints nothing",)),
]

if __name__ == "__main__":
    run(rule, CASES)
