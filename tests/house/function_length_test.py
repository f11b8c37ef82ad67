"""A function has at most 70 lines, unless a comment at its head says why it is longer: `// long: reason` (in Python `#
long: reason`).
"""

import ast
import re
from pathlib import Path

from cpp import scopes
from house import Case, files, run

LINES_MAX = 70
EXEMPT = ("examples/", "tests/adversarial/", "tests/golden/", "tests/fuzz/corpus/")
REASON = re.compile(r"(?://|#) long: \S")


def rule(root: Path) -> list[str]:
    complaints = []
    for path in files(root):
        if path.startswith(EXEMPT) and not path.startswith("tests/adversarial/suite/"):
            continue
        if path.endswith((".cc", ".h", ".cu")):
            found = cpp_functions((root / path).read_text(errors="replace"))
        elif is_python(root / path):
            found = python_functions((root / path).read_text(errors="replace"))
        else:
            continue
        for first, last, has_reason in sorted(found):
            count = last - first + 1
            if count > LINES_MAX and not has_reason:
                complaints.append(
                    f"{path}:{first}: this function has {count} lines; split it, {LINES_MAX} are the most, "
                    "or say why not in a comment `long: reason` at its head"
                )
    return complaints


def is_python(path: Path) -> bool:
    if path.suffix:
        return path.suffix == ".py"
    with path.open("rb") as file:
        return re.match(rb"#!.*python", file.readline()) is not None


Functions = list[tuple[int, int, bool]]  # first line, last line, whether a reason stands at the head


def cpp_functions(text: str) -> Functions:
    lines = text.split("\n")
    return [
        (scope.first, scope.last, has_reason(lines, scope.first, scope.opening))
        for scope in scopes(text)
        if scope.kind == "function"
    ]


def python_functions(text: str) -> Functions:
    lines = text.split("\n")
    return [
        (node.lineno, node.end_lineno or node.lineno, has_reason(lines, node.lineno, node.body[0].lineno - 1))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def has_reason(lines: list[str], first: int, opening: int) -> bool:
    """Looks in the comment above the head, in the head, and in the line after the opening brace."""
    above = first - 1
    while above > 0 and re.match(r"\s*(//|#|@)", lines[above - 1]):
        above -= 1
    return any(REASON.search(line) for line in lines[above : opening + 1])


def function(lines: int, before: str = "", head: str = "int f(int a) const {") -> str:
    return f"namespace kq {{\n{before}{head}\n" + "  a += 1;\n" * (lines - 2) + "}\n}\n"


def python(lines: int, before: str = "") -> str:
    return before + "def f(a):\n" + "    a += 1\n" * (lines - 1)


CASES = [
    Case("as long as may be", {"a.cc": function(70), "a.py": python(70)}),
    Case("C++", {"a.cc": function(71)}, ("a.cc:2: this function has 71 lines",)),
    Case("a constructor", {"a.h": function(80, head="A() : a_{1}, b_(2) {")}, ("a.h:2: this function has 80 lines",)),
    Case("a test", {"a_test.cc": function(80, head="TEST_F(A, b) {")}, ("a_test.cc:2:",)),
    Case(
        "a class may be long", {"a.h": function(99, head="class A final : public B {").replace("a += 1;", "int f();")}
    ),
    Case("a table may be long", {"a.cc": function(99, head="constexpr Row kRows[] = {").replace("a += 1;", "{1},")}),
    Case(
        "Python",
        {"a.py": python(71), "run": "#!/usr/bin/env python3\n" + python(80)},
        ("a.py:1: this function", "run:2:"),
    ),
    Case(
        "with a reason",
        {"a.cc": function(80, "// It tells.\n// long: one table of the protocol\n"), "a.py": python(80, "# long: x\n")},
    ),
    Case("without a reason", {"a.cc": function(80, "// long:\n")}, ("a.cc:3:",)),
]

if __name__ == "__main__":
    run(rule, CASES)
