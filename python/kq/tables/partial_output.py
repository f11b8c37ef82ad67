"""Partial outputs: an export first writes a hidden file or folder beside its target and renames it when it is complete.

A lock makes sure that one process at a time writes a partial output. The next export overwrites a partial output that a
killed process left behind. The Python twin of tools/cli/output_file.cc.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kq.errors import BadInput

OPENS_MAX = 16  # attempts to lock a partial output that another process renames or removes meanwhile


def partial_path(target: Path) -> Path:
    """Returns the path of a target's partial output."""
    return target.with_name(f".{target.name}.partial")


@contextmanager
def partial_file(target: Path) -> Iterator[Path]:
    """Yields an empty, locked file; removes the file afterwards unless the caller has renamed it."""
    partial = partial_path(target)
    descriptor = _open_locked(partial, target, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    try:
        os.ftruncate(descriptor, 0)
        yield partial
    finally:
        partial.unlink(missing_ok=True)
        os.close(descriptor)


@contextmanager
def partial_folder(target: Path) -> Iterator[Path]:
    """Yields an empty, locked folder; removes the folder afterwards unless the caller has renamed it."""
    partial = partial_path(target)
    partial.mkdir(parents=True, exist_ok=True)
    descriptor = _open_locked(partial, target, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for entry in partial.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        os.close(descriptor)


def _open_locked(partial: Path, target: Path, flags: int) -> int:
    """Opens and locks a partial output and returns its descriptor.

    Raises BadInput if another process holds the lock.
    """
    for _ in range(OPENS_MAX):
        opened = os.open(partial, flags | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder of the lock may have renamed or removed the output between open() and flock().
            if os.path.samestat(os.fstat(opened), os.lstat(partial)):
                return opened
        except BlockingIOError:
            os.close(opened)
            raise BadInput(
                f"{target} is being written by another process; wait for it or name another target"
            ) from None
        except FileNotFoundError:
            pass
        except OSError:  # on a file system without locks the last of two writers wins
            return opened
        os.close(opened)
    raise BadInput(f"{target} is being written by other processes repeatedly; name another target")
