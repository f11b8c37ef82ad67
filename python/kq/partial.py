"""What an export writes before it is whole: a hidden file or folder beside its target, which one process at a time has.

What a process that was killed left there is written over by the next one: tools/cli/output_file.cc in Python.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kq.errors import BadInput

OPENS_MAX = 16  # of what whoever had it before takes away meanwhile


def partial_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.partial")


@contextmanager
def partial_file(target: Path) -> Iterator[Path]:
    """An empty file, which is gone afterwards unless it was renamed."""
    partial = partial_of(target)
    held = _hold(partial, target, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    try:
        os.ftruncate(held, 0)
        yield partial
    finally:
        partial.unlink(missing_ok=True)
        os.close(held)


@contextmanager
def partial_folder(target: Path) -> Iterator[Path]:
    """The same as a folder."""
    partial = partial_of(target)
    partial.mkdir(parents=True, exist_ok=True)
    held = _hold(partial, target, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for entry in partial.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        os.close(held)


def _hold(partial: Path, target: Path, flags: int) -> int:
    for _ in range(OPENS_MAX):
        opened = os.open(partial, flags | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had the lock before may have finished: then it has another name by now, or none.
            if os.path.samestat(os.fstat(opened), os.lstat(partial)):
                return opened
        except BlockingIOError:
            os.close(opened)
            raise BadInput(f"{target} is being written by another process; name another, or wait for it") from None
        except FileNotFoundError:
            pass
        except OSError:  # a file system without locks has the last of two writers win
            return opened
        os.close(opened)
    raise BadInput(f"{target} is being written by others again and again; name another")
