"""The version of kq is that of core/base/version.h; the Python client, which is installed without it, repeats it."""

import re
from pathlib import Path

from house import Case, run

SOURCE = "core/base/version.h"
COPIES = {"python/kq/__init__.py": r'^__version__ = "(.+)"$'}


def rule(root: Path) -> list[str]:
    version = found(root / SOURCE, r'kVersion = "(.+)"')
    return [
        f"{path}: has version {found(root / path, pattern)}; {SOURCE} has {version}"
        for path, pattern in COPIES.items()
        if found(root / path, pattern) != version
    ]


def found(path: Path, pattern: str) -> str | None:
    match = re.search(pattern, path.read_text(), re.MULTILINE) if path.exists() else None
    return match[1] if match else None


HEADER = {SOURCE: 'inline constexpr std::string_view kVersion = "1.2.3";\n'}
CASES = [
    Case("equal", {**HEADER, "python/kq/__init__.py": '__version__ = "1.2.3"\n'}),
    Case("other", {**HEADER, "python/kq/__init__.py": '__version__ = "1.2.4"\n'}, ("has version 1.2.4",)),
    Case("missing", HEADER, ("has version None",)),
]

if __name__ == "__main__":
    run(rule, CASES)
