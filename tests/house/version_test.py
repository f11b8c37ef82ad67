"""The version of kq is that of core/base/version.h. What is installed without it repeats it: the Python client, and the
chart for Kubernetes. The newest release of CHANGELOG.md has it too, and tests/golden/released lists what it sends.
"""

import re
from pathlib import Path

from house import Case, run

SOURCE = "core/base/version.h"
COPIES = {
    "python/kq/__init__.py": r'^__version__ = "(.+)"$',
    "deploy/helm/kq/Chart.yaml": r"^version: (.+)$",
    "CHANGELOG.md": r"^## \[(\d.*)\] - \d{4}-\d\d-\d\d$",
}
LISTS = "tests/golden/released"


def rule(root: Path) -> list[str]:
    version = found(root / SOURCE, r'kVersion = "(.+)"')
    complaints = [
        f"{path}: has version {found(root / path, pattern)}; {SOURCE} has {version}"
        for path, pattern in COPIES.items()
        if found(root / path, pattern) != version
    ]
    if not (root / LISTS / f"{version}.txt").exists():
        complaints.append(f"{LISTS}: lacks {version}.txt; tests/golden/upgrade_test.py says how to make it")
    return complaints


def found(path: Path, pattern: str) -> str | None:
    match = re.search(pattern, path.read_text(), re.MULTILINE) if path.exists() else None
    return match[1] if match else None


HEADER = {SOURCE: 'inline constexpr std::string_view kVersion = "1.2.3";\n'}
TREE = {
    **HEADER,
    "python/kq/__init__.py": '__version__ = "1.2.3"\n',
    "deploy/helm/kq/Chart.yaml": "version: 1.2.3\n",
    "CHANGELOG.md": "## [Unreleased]\n## [1.2.3] - 2026-01-02\n## [1.2.2] - 2026-01-01\n",
    f"{LISTS}/1.2.3.txt": "",
}
CASES = [
    Case("equal", TREE),
    Case("other", {**TREE, "python/kq/__init__.py": '__version__ = "1.2.4"\n'}, ("has version 1.2.4",)),
    Case("missing", {**TREE, "CHANGELOG.md": ""}, ("has version None",)),
    Case("no list", {name: text for name, text in TREE.items() if LISTS not in name}, ("lacks 1.2.3.txt",)),
]

if __name__ == "__main__":
    run(rule, CASES)
