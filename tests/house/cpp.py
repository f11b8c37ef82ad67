"""A small scanner of C++ for the house rules: enough to find namespaces, types and functions, without a compiler.

The scanner blanks comments, literals and preprocessor lines, and then follows braces. Its answers are right for code in
the style of this tree (clang-format, no macros that open a scope).
"""

import re
from bisect import bisect_right
from dataclasses import dataclass

BLANKED = re.compile(
    r"""
    //(?:\\\n|[^\n])*                                      # line comment
  | /\*.*?\*/                                              # block comment
  | R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)" # raw string
  | "(?:\\.|[^"\\\n])*"                                    # string
  | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'                    # character; a quote between digits is a separator
  | ^[ \t]*\#(?:\\\n|[^\n])*                               # preprocessor line
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
NAMESPACE = re.compile(r"\bnamespace\b\s*(\w+(?:::\w+)*|)\s*$")
EXTERN = re.compile(r"\bextern\s*$")
TYPE = re.compile(
    r"(?:^|[;>\s])(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[[^]]*\]\]\s*|alignas\s*\([^)]*\)\s*)?"
    r"(\w+(?:::\w+)*)\s*(?:final\s*)?(?::[^:].*)?$",
    re.DOTALL,
)
FUNCTION = re.compile(
    r"\)\s*(?:(?:const|noexcept|override|final|mutable|volatile|&&?|try)\s*(?:\([^)]*\))?\s*)*"
    r"(?:->\s*[\w:<>,\s*&\[\]()]+?)?\s*(?::(?!:).*)?$",
    re.DOTALL,
)
# A constructor's head up to the opening brace of a member's initialiser, as in `A() : one_(1), two_`.
INITIALISER = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:).*[\w>]\s*$", re.DOTALL)


@dataclass(frozen=True)
class Scope:
    """A pair of braces: what it is, and where. Lines count from 1 and are inclusive."""

    kind: str  # "namespace", "extern", "type", "function", or "other"
    name: str  # of a namespace ("" where it is anonymous) or of a type
    inside: tuple[str, ...]  # kinds of the scopes around this one, outermost first
    namespace: str  # the enclosing namespaces, joined by "::"; an anonymous one is "(anonymous)"
    first: int  # line where the declaration begins
    opening: int  # line of the opening brace
    last: int  # line of the closing brace
    body: str  # blanked text between the braces


def blanked(text: str) -> str:
    """The text with a space for every character of a comment, a literal or a preprocessor line. Newlines stay."""
    return BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def scopes(text: str) -> list[Scope]:
    """Every scope of the file in the order of its closing brace."""
    code = blanked(text)
    line_starts = [0, *(match.end() for match in re.finditer("\n", code))]

    def line(position: int) -> int:
        return bisect_right(line_starts, position)

    found: list[Scope] = []
    stack: list[tuple[str, str, int, int]] = []  # kind, name, position of the declaration, of the opening brace
    begin = 0  # where the current declaration begins
    parentheses = 0
    for match in re.finditer(r"[{};()]", code):
        at, mark = match.start(), match.group()
        if mark == "(":
            parentheses += 1
        elif mark == ")":
            parentheses -= 1
        elif mark == "{":
            head = code[begin:at]
            kind, name = ("other", "") if parentheses else _kind_of(head, [kind for kind, *_ in stack])
            start = begin + len(head) - len(head.lstrip())
            stack.append((kind, name, start, at))
            # The braces of an initialiser are part of the declaration around them.
            if kind != "other":
                begin = at + 1
        elif mark == "}" and stack:
            kind, name, start, opening = stack.pop()
            kinds = tuple(around[0] for around in stack)
            namespace = "::".join(around[1] or "(anonymous)" for around in stack if around[0] == "namespace")
            body = code[opening + 1 : at]
            found.append(Scope(kind, name, kinds, namespace, line(start), line(opening), line(at), body))
            if kind != "other":
                begin = at + 1
        elif mark == ";" and not parentheses and (not stack or stack[-1][0] != "other"):
            begin = at + 1
    return found


def _kind_of(head: str, around: list[str]) -> tuple[str, str]:
    """What the scope is that opens after this head."""
    if "function" in around or "other" in around:
        return "other", ""
    head = re.sub(r"^\s*(?:public|private|protected)\s*:(?!:)", "", head).strip()
    if match := NAMESPACE.search(head):
        return "namespace", match.group(1)
    if EXTERN.search(head):
        return "extern", ""
    if FUNCTION.search(head) and not INITIALISER.search(head):
        return "function", ""
    if match := TYPE.search(head):
        return "type", match.group(1)
    return "other", ""
