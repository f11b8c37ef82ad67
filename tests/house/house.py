"""What the house rules share: which files there are, and how a rule and its own test are run.

A rule is a function from the root of a tree to sentences, one per violation: where, what, and what would be right.
Every script here runs its rule over the tree, or with --self-test over small planted trees that break it.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

Rule = Callable[[Path], list[str]]

# Where git does not say what belongs to the tree: what a build, an interpreter or an editor leaves behind.
LEFT_BEHIND = {
    ".git",
    ".venv",
    ".venv-check",
    ".cache",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
}


@dataclass(frozen=True)
class Case:
    """A planted tree and the violations a rule must find in it: one distinctive piece of each sentence, in order."""

    name: str
    tree: dict[str, str]
    violations: tuple[str, ...] = ()


def files(root: Path, *suffixes: str) -> list[str]:
    """Paths below the root, sorted; also those that are about to be added to git, so that a rule speaks in time."""
    paths = _files_by_git(root) if (root / ".git").exists() else None
    if paths is None:
        paths = [p.relative_to(root).as_posix() for p in root.rglob("*") if not _left_behind(p.relative_to(root))]
    return sorted(p for p in paths if p.endswith(suffixes or "") and (root / p).is_file())


def lines(root: Path, path: str) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file; none of a binary one."""
    content = (root / path).read_bytes()
    if b"\0" not in content:
        yield from enumerate(content.decode(errors="replace").splitlines(), start=1)


def run(rule: Rule, cases: list[Case]) -> None:
    """Ends the process: 0 when all is well, 1 after one sentence per violation, 2 for bad arguments."""
    match sys.argv[1:]:
        case ["--self-test"]:
            complaints = [c for case in cases for c in _judge(rule, case)]
        case [root] if Path(root).is_dir():
            complaints = rule(Path(root))
        case _:
            print(f"usage: {sys.argv[0]} ROOT | --self-test", file=sys.stderr)
            sys.exit(2)
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)


def _judge(rule: Rule, case: Case) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="kq-house.") as folder:
        root = Path(folder)
        for path, text in case.tree.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        found = rule(root)
    wanted = case.violations
    if len(found) == len(wanted) and all(piece in sentence for piece, sentence in zip(wanted, found)):
        return []
    return [f"case '{case.name}': wanted sentences with {list(wanted)}, got {found}"]


def _files_by_git(root: Path) -> list[str] | None:
    # The owner of a checkout may be another user, as in a container: reading its file list is harmless.
    command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return [path for path in listing.split("\0") if path]


def _left_behind(path: PurePosixPath) -> bool:
    return path.parts[0] == "build" or any(part in LEFT_BEHIND for part in path.parts)
