"""What names are bound to: the values that ast_names.py follows, and the scopes they are bound in."""

import ast
from typing import Any

ELEMENTS_MAX = 4096  # of a list or comprehension that is followed


class Const:
    """A constant: text, bytes, a number, or a list or dict of such."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and type(self.value) is type(other.value) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value) if isinstance(self.value, (str, bytes, int, float)) else hash(type(self.value))


class Scope:
    """Names bound in a module, class, function or comprehension, each with all it may stand for."""

    __slots__ = ("outer", "is_class", "is_passing", "values", "stars", "returns", "elsewhere")

    def __init__(self, outer: "Scope | None" = None, is_class: bool = False, is_passing: bool = False) -> None:
        self.outer = outer
        self.is_class = is_class
        self.is_passing = is_passing  # lives for one step of a comprehension: nothing about it is remembered
        self.values: dict[str, list[Bound]] = {}
        self.stars: list[str] = []  # modules of `from m import *`
        self.returns: list[ast.expr] = []
        self.elsewhere: dict[str, Scope] = {}  # global and nonlocal names

    def module(self) -> "Scope":
        scope = self
        while scope.outer is not None:
            scope = scope.outer
        return scope


class LocalDefinition:
    """A function or class of the file itself."""

    __slots__ = ("node", "scope", "is_method")

    def __init__(self, node: ast.AST, scope: Scope, is_method: bool = False) -> None:
        self.node = node
        self.scope = scope  # its own
        self.is_method = is_method


class Element:
    """One of the elements of an expression, as a loop's target is."""

    __slots__ = ("of",)

    def __init__(self, of: ast.expr) -> None:
        self.of = of


Value = str | Const | LocalDefinition  # a dotted name of a module's, a constant, or something of the file's own
Bound = tuple[str | ast.expr | Const | LocalDefinition | Element, Scope]
