"""Every list of backends has those of `Backend` in core/submission.h. The lists that are not made from it are compared
here. A list for what kq's judge measures lacks eval_program, with which a problem's own program measures.
"""

import re
from pathlib import Path

from house import Case, run

SOURCE = "core/submission.h"
SOURCE_PATTERN = r"enum_names\(Backend\) \{\n  return \{(.*)\};"
JUDGED_ELSEWHERE = "eval_program"

# The lists by file: a pattern whose group holds the names of one list, in any order and with any words between them.
ALL = {
    "python/kq/records/submission.py": (r"class Backend\(TextEnum\):\n((?:.*\n)*?)\n\n",),
    "gpu_worker/zygote/zygote.h": (r'"backends": \[(.*)\]',),
    "tools/table/columns.cc": (r'"how the submission is built and called: (.*)"',),
    "share/kq.result-1.schema.json": (r'"how the submission is built and called: (.*)"',),
    "docs/user/formats.md": (r"\| backend \| files \| content \|\n\|---\|---\|---\|\n((?:\|.*\n)*)",),
}
JUDGED = {
    "gpu_worker/harness/backends/__init__.py": (r"BACKENDS: .* = \{\n((?:    .*\n)*)\}",),
    "share/kq.submission-1.schema.json": (r'"backend": \{"enum": \[(.*)\]\}',),
    "share/kq.openapi.json": (r'"backend": \{"enum": \[((?!"nv).*)\]\}', r'"kernel_type": \{"enum": \[(.*)\]\}'),
    "docs/user/formats.md": (r"\| `backend` \| (.*?) \|",),
}
# How a list writes a name: in Python's enumeration, as key of a table, as first cell of a row, or as a word of a text.
NAMES = (
    r'^    [A-Z_]+ = "(\w+)"',
    r'^    "(\w+)":',
    r"^\| `(\w+)` \|",
    r'"(\w+)"',
    r"`(\w+)`",
    r"(\w+)",
)


def rule(root: Path) -> list[str]:
    source = re.search(SOURCE_PATTERN, (root / SOURCE).read_text())
    if not source:
        return [f"{SOURCE}: has no enum_names(Backend) with one list of names"]
    every = set(re.findall(r'"(\w+)"', source[1]))
    return [
        complaint
        for lists, wanted in ((ALL, every), (JUDGED, every - {JUDGED_ELSEWHERE}))
        for path, patterns in lists.items()
        for pattern in patterns
        for complaint in compare(root, path, pattern, wanted)
    ]


def compare(root: Path, path: str, pattern: str, wanted: set[str]) -> list[str]:
    if not (root / path).exists():
        return []
    match = re.search(pattern, (root / path).read_text())
    if not match:
        return [f"{path}: has no list of backends of the form {pattern}; tests/house/backend_lists_test.py compares it"]
    found = names_in(match[1])
    complaints = []
    if missing := sorted(wanted - found):
        complaints.append(f"{path}: the list of backends lacks {', '.join(missing)}, which {SOURCE} has")
    if unknown := sorted(found - wanted - {"null"}):
        complaints.append(f"{path}: the list of backends has {', '.join(unknown)}, which {SOURCE} has not")
    return complaints


def names_in(text: str) -> set[str]:
    for form in NAMES:
        if names := set(re.findall(form, text, re.MULTILINE)):
            return names
    return set()


HEADER = {SOURCE: 'constexpr X enum_names(Backend) {\n  return {"torch", "my_dsl", "eval_program"};\n}\n'}
SCHEMA = "share/kq.submission-1.schema.json"
PYTHON = "python/kq/records/submission.py"
CASES = [
    Case("equal", {**HEADER, SCHEMA: '"backend": {"enum": ["torch", "my_dsl"]},\n'}),
    Case("lacks one", {**HEADER, SCHEMA: '"backend": {"enum": ["torch"]},\n'}, ("lacks my_dsl",)),
    Case(
        "has one more",
        {**HEADER, SCHEMA: '"backend": {"enum": ["torch", "my_dsl", "old"]},\n'},
        ("has old, which",),
    ),
    Case(
        "Python",
        {**HEADER, PYTHON: 'class Backend(TextEnum):\n    """Words."""\n\n    TORCH = "torch"\n    X = "my_dsl"\n\n\n'},
        ("lacks eval_program",),
    ),
    Case("no list", {**HEADER, SCHEMA: "{}\n"}, ("has no list of backends",)),
    Case("no names", {SOURCE: "\n"}, ("has no enum_names(Backend)",)),
]

if __name__ == "__main__":
    run(rule, CASES)
