"""A source file longer than 700 lines holds more than one idea."""

from pathlib import Path

from house import Case, files, lines, run

LINES_MAX = 700
SUFFIXES = (".cc", ".h", ".cu", ".py", ".sh", ".cmake", ".md")
FOLDERS = ("scripts/", ".ci/")


def rule(root: Path) -> list[str]:
    complaints = []
    for path in files(root):
        if path.endswith(SUFFIXES) or path.startswith(FOLDERS):
            count = sum(1 for _ in lines(root, path))
            if count > LINES_MAX:
                complaints.append(f"{path}:{LINES_MAX + 1}: has {count} lines; split it, {LINES_MAX} is the ceiling")
    return complaints


CASES = [
    Case("as long as may be", {"core/job.cc": "x\n" * 700, "scripts/setup": "x\n" * 700}),
    Case("source", {"core/job.cc": "x\n" * 701}, ("core/job.cc:701: has 701 lines; split it",)),
    Case("document", {"docs/a.md": "x\n" * 800}, ("docs/a.md:701: has 800 lines",)),
    Case("script", {"scripts/setup": "x\n" * 701}, ("scripts/setup:701: has 701 lines",)),
    Case("data may be long", {"tests/golden/rows.txt": "x\n" * 1000}),
]

if __name__ == "__main__":
    run(rule, CASES)
