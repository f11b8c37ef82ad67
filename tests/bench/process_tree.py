"""Finds and ends the processes below a process, in whatever sessions and namespaces they run."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Any


def tree_below(root: int) -> list[int]:
    """Returns a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def end_tree(process: "subprocess.Popen[Any]") -> None:
    """Kills a process, the processes below it and those of its group, and waits for its end."""
    for pid in tree_below(process.pid) if process.poll() is None else []:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
