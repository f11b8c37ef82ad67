"""FILES of a problem file: the files that the problem reads in its own folder, by their names.

A problem travels as one text. kq-submit appends the files beside a problem as a dict of texts
(producer/formats/problem_folder.h), and a problem may define that dict itself.
"""

import ast
import importlib
from pathlib import Path

FILES_MAX = 16


def write_files_beside(problem: Path) -> None:
    """Writes the files of a problem beside it, before the problem is imported. A file that exists stays as it is. Does
    nothing where FILES is no dict of texts.
    """
    source = problem.read_bytes()
    if b"\nFILES" not in source and not source.startswith(b"FILES"):
        return
    files = files_in(source)
    for name, text in list(files.items())[:FILES_MAX]:
        path = problem.parent / name
        if not path.exists():
            path.write_text(text, encoding="utf-8", newline="")
    if files:
        importlib.invalidate_caches()


def files_in(source: bytes) -> dict[str, str]:
    """Returns the last dict of texts that the source assigns to FILES, with those of its names that are plain."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return {}
    files: dict[str, str] = {}
    for statement in body:
        if not isinstance(statement, ast.Assign) or [ast.unparse(t) for t in statement.targets] != ["FILES"]:
            continue
        try:
            value = ast.literal_eval(statement.value)
        except ValueError:
            continue
        if isinstance(value, dict):
            files = {name: text for name, text in value.items() if is_plain(name) and isinstance(text, str)}
    return files


def is_plain(name: object) -> bool:
    """Returns whether this is the name of a file without a folder, and not hidden."""
    return isinstance(name, str) and 0 < len(name) <= 255 and not name.startswith(".") and not set(name) & {"/", "\0"}
