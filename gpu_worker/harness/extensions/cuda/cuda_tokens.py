"""Reads a CUDA source as tokens, for cuda_split.py."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r"""(?P<space>\s+|//(?:\\\n|[^\n])*|/\*.*?\*/)
    |(?P<text>
        (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
        |(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|(?:u8|[uUL])?'(?:\\.|[^'\\\n])*')
    |(?P<word>[A-Za-z_]\w*)
    |(?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
    |(?P<mark_>\#\#|<<<|>>>|::|->|\.\.\.|[{}()\[\];,<>=.:?*&|!~^%/+\-\#@\\$`])""",
    re.S | re.X,
)
DIRECTIVE = re.compile(r"[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*", re.S)


class Refused(Exception):
    """The source is not split; the text says why."""


@dataclass(frozen=True)
class Token:
    kind: str  # word, text, number, mark_ or directive
    text: str
    start: int
    end: int


def tokens_of(source: str) -> Iterator[Token]:
    at, fresh_line = 0, True
    while at < len(source):
        if fresh_line:
            found = DIRECTIVE.match(source, at)
            if found is not None:
                yield Token("directive", found.group(), at, found.end())
                at, fresh_line = found.end(), False
                continue
        found = TOKEN.match(source, at)
        if found is None:
            raise Refused(f"an unknown character {source[at]!r}")
        kind = str(found.lastgroup if found.lastgroup != "mark" else "text")
        if kind == "space":
            fresh_line = "\n" in found.group() or (fresh_line and not found.group().startswith("//"))
        else:
            fresh_line = False
            yield Token(kind, found.group(), at, found.end())
        at = found.end()


def words_outside(head: list[Token]) -> set[str]:
    """Returns the words of a declaration that stand outside of brackets and are not part of an operator's name."""
    found, depth, previous = set(), 0, ""
    for token in head:
        if token.kind == "mark_" and token.text in ("(", ")", "[", "]"):
            depth += 1 if token.text in "([" else -1
        elif depth == 0 and previous != "operator":
            found.add(token.text)
        previous = token.text if token.kind == "word" else previous if token.text == "=" else ""
    return found


def has_call(head: list[Token]) -> bool:
    return any(token.text == "(" for token in head)


def balanced(tokens: list[Token]) -> bool:
    depth = 0
    for token in tokens:
        if token.kind == "directive":
            word = token.text.strip().lstrip("#").strip()
            depth += word.startswith("if") - word.startswith("endif")
            if depth < 0:
                return False
    return depth == 0
