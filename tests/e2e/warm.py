"""Makes a KQ_PYTHON that forks a process with torch imported (tests/warm_python.py), for tests with many workers."""

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import kq

WARM = kq.ROOT / "tests/warm_python.py"


def own_python() -> str:
    """Returns the Python interpreter that kq-worker would use."""
    found = os.environ.get("KQ_PYTHON") or next(
        (str(path) for path in [kq.ROOT / ".venv/bin/python"] if path.exists()), "python3"
    )
    return shutil.which(found) or sys.exit(
        f"there is no {found}; set KQ_PYTHON to an interpreter with torch and triton"
    )


@contextlib.contextmanager
def python() -> Iterator[str]:
    """Yields the path of the interpreter, which works during the block."""
    tree, own = kq.BIN.parent, own_python()
    folder = Path(tempfile.mkdtemp(prefix="kq-warm.", dir="/tmp"))
    (folder / "bin").mkdir()
    (folder / "lib").symlink_to(
        Path(own).parent.parent / "lib"
    )  # programs search the packages of the virtual environment there
    path = folder / "bin/python"
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(own)} -I -S {shlex.quote(str(WARM))} run {folder} "$@"\n')
    path.chmod(0o755)
    words = [own, str(WARM), "serve", str(folder), str(tree / "lib/kq/libkqstub.so"), str(tree / "share/kq/harness")]
    environment = {"PATH": os.environ["PATH"], "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    server = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment)
    try:
        yield str(path)
    finally:
        assert server.stdin is not None
        server.stdin.close()
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)
