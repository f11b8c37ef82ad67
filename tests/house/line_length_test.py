"""No line of C++, Python, CMake, shell or Markdown has more than 120 columns.

Rows of a Markdown table, a Markdown line that is one link, and a line whose long part is one word (an address, a hash)
are excepted. So are files that are data: submissions, examples, generated kernels, golden files and seeds of fuzzers.
"""

import re
from pathlib import Path

from house import Case, files, lines, run

COLUMNS_MAX = 120
SUFFIXES = (".cc", ".h", ".cu", ".cuh", ".py", ".sh", ".cmake", ".md", "CMakeLists.txt")
DATA = (
    "examples/",
    "tests/adversarial/",
    "tests/bench/sweep_jobs.py",
    "tests/builds/corpus.py",
    "tests/fuzz/corpus/",
    "tests/golden/",
)
LINK = re.compile(r"\s*(?:[-*>] )?!?\[[^]]*\](?:\([^)]*\)|: \S+)[.,;]?\s*$")


def rule(root: Path) -> list[str]:
    complaints = []
    for path in files(root):
        if path.startswith(DATA) and not path.startswith("tests/adversarial/suite/"):
            continue
        if not path.endswith(SUFFIXES) and not is_script(root / path):
            continue
        for number, line in lines(root, path):
            if len(line) > COLUMNS_MAX and not is_excepted(path, line):
                complaints.append(f"{path}:{number}: has {len(line)} columns; wrap it, {COLUMNS_MAX} are the most")
    return complaints


def is_script(path: Path) -> bool:
    if path.suffix:
        return False
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def is_excepted(path: str, line: str) -> bool:
    if path.endswith(".md") and (line.lstrip().startswith("|") or LINK.match(line)):
        return True
    return max(map(len, line.split()), default=0) > COLUMNS_MAX - 20


LONG = "word " * 25  # 125 columns

CASES = [
    Case("as long as may be", {"a.cc": "x " * 60 + "\n", "a.md": LONG[:120]}),
    Case("C++", {"a.cc": f"\n// {LONG}\n"}, ("a.cc:2: has 128 columns; wrap it",)),
    Case("each kind", {name: f"# {LONG}" for name in ("CMakeLists.txt", "a.cmake", "a.py", "a.sh")}, tuple("Caaa")),
    Case("a script", {"scripts/run": f"#!/bin/sh\n# {LONG}\n", "scripts/words.txt": LONG}, ("scripts/run:2:",)),
    Case("Markdown", {"a.md": f"| {LONG} |\n[{LONG}](a.md)\n- [x](a{'b' * 120}.md)\n{LONG}\n"}, ("a.md:4:",)),
    Case("one long word", {"a.py": f"# {'a' * 130}\n"}),
    Case("data", {"examples/a.py": f"# {LONG}\n", "tests/adversarial/a.py": f"# {LONG}\n"}),
]

if __name__ == "__main__":
    run(rule, CASES)
