"""The README fits on one screen, and its commands work: its ```sh blocks run, in order, in a copy of the checkout.

Commands that take long or need a package manager are listed in ALLOWED and have tests of their own. A block that must
not run (output, a configuration, something for another machine) carries another word than sh behind its fence.
KQ_BIN names the folder of the built programs; the default is build/release/bin of the tree.
"""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path

from house import Case, lines, run

README = "README.md"
BLOCK_LIMIT_S = 120
LINES_MAX = 60  # one screen

# Whole commands, or their beginnings, that are not run here.
ALLOWED = (
    "scripts/setup", "scripts/build", "scripts/test", "scripts/demo", "scripts/bundle", "scripts/gpu-check",
    "scripts/bench", "scripts/check", "scripts/fuzz", "scripts/kill-",
    "apt ", "apt-get ", "sudo apt", "git clone ", "cd kq",
)  # fmt: skip

# Stands before the first line of a block and on it, so that bash's line numbers are the block's.
PRELUDE = 'set -eE; trap \'echo "$LINENO $?" >"$KQ_README_FAILURE"\' ERR; '


def blocks(root: Path) -> list[tuple[int, list[str]]]:
    """(Line of the first command, lines) of each block whose fence says exactly sh."""
    found: list[tuple[int, list[str]]] = []
    fence = info = ""
    for number, line in lines(root, README):
        mark = re.match(r"\s*(```+|~~~+)\s*(.*?)\s*$", line)
        if mark and not fence:
            fence, info = mark.groups()
            if info == "sh":
                found.append((number + 1, []))
        elif mark and mark.group(1).startswith(fence) and not mark.group(2):
            fence = info = ""
        elif fence and info == "sh":
            found[-1][1].append(line)
    return found


def is_allowed(line: str) -> bool:
    return line.strip().startswith(ALLOWED)


def empty_copy(root: Path, folder: Path) -> None:
    """Commands see the checkout's files, but write beside them and not into them."""
    for entry in root.iterdir():
        (folder / entry.name).symlink_to(entry.resolve())


def run_block(first: int, block: list[str], folder: Path, programs: Path, groups: list[int]) -> list[str]:
    """Runs one block; what it leaves in the background serves the next blocks and stays in `groups`."""
    script, log, failure = folder / ".block", folder / ".log", folder / ".failure"
    script.write_text(PRELUDE + "\n".join(":" if is_allowed(line) else line for line in block) + "\n")
    env = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", KQ_README_FAILURE=str(failure))
    with log.open("wb") as sink:
        process = subprocess.Popen(
            ["bash", str(script)],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    groups.append(process.pid)
    try:
        code = process.wait(BLOCK_LIMIT_S)
    except subprocess.TimeoutExpired:
        return [
            f"{README}:{first}: this block still runs after {BLOCK_LIMIT_S} s; shorten it or name it in readme_test.py"
        ]
    if code == 0:
        return []
    line, code = map(int, failure.read_text().split()) if failure.exists() else (1, code)
    said = log.read_text(errors="replace").strip().splitlines()[-5:]
    command = block[line - 1].strip()
    return [
        f"{README}:{first + line - 1}: '{command}' ends with exit code {code}, must be 0; it says: {' / '.join(said)}"
    ]


def rule(root: Path) -> list[str]:
    if not (root / README).exists():
        return [f"{README}:1: is missing; write it"]
    length = sum(1 for _ in lines(root, README))
    if length > LINES_MAX:
        return [f"{README}:{LINES_MAX + 1}: has {length} lines; move details to docs, {LINES_MAX} are one screen"]
    found = blocks(root)
    if not found:
        return [f"{README}:1: has no ```sh block; show the commands that build and run"]
    programs = Path(os.environ.get("KQ_BIN") or root / "build/release/bin").resolve()
    groups: list[int] = []
    with tempfile.TemporaryDirectory(prefix="kq-readme.", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        empty_copy(root, folder)
        try:
            for first, block in found:
                complaints = run_block(first, block, folder, programs, groups)
                if complaints:
                    return complaints  # later commands build on earlier ones
        finally:
            for group in groups:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)
    return []


def readme(*blocks: str) -> dict[str, str]:
    return {README: "# kq\n" + "\n".join(blocks)}


CASES = [
    Case("missing", {}, ("README.md:1: is missing",)),
    Case("no commands", readme("```\nfalse\n```"), ("README.md:1: has no ```sh block",)),
    Case(
        "good",
        readme("```sh\ntrue\n# a comment\ncd docs\ntest -e x.md\n```", "```text\nfalse\n```") | {"docs/x.md": ""},
    ),
    Case("long ones are known by name", readme("```sh\nscripts/demo\nsudo apt-get install x\n```")),
    Case("one block builds on another", readme("```sh\necho 1 >made\n```", "```sh\ntest -e made\n```")),
    Case("longer than a screen", readme("```sh\ntrue\n```", "text\n" * 60), ("README.md:61: has 64 lines",)),
    Case("fails", readme("```sh\ntrue\n\nls gone\ntrue\n```"), ("README.md:5: 'ls gone' ends with exit code 2",)),
    Case("no such program", readme("```sh\nkq-gone\n```"), ("README.md:3: 'kq-gone' ends with exit code 127",)),
    Case("the second block", readme("```sh\ntrue\n```", "```sh\nfalse\n```"), ("README.md:6: 'false' ends",)),
    Case("a server in the background", readme("```sh\nsleep 60 &\n```", "```sh\ntrue\n```")),
]

if __name__ == "__main__":
    run(rule, CASES)
