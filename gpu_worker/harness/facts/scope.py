"""The values that names are bound to, and the scopes in which they are bound. name_resolver.py follows them."""

import ast
from typing import Any

ELEMENTS_MAX = 4096  # of a list or comprehension that is followed


class Const:
    """A constant: a text, bytes, a number, or a list or dict of constants."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and type(self.value) is type(other.value) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value) if isinstance(self.value, (str, bytes, int, float)) else hash(type(self.value))


class Scope:
    """The names bound in a module, class, function or comprehension, each with all values that it may have."""

    __slots__ = ("outer", "is_class", "is_passing", "values", "stars", "returns", "elsewhere")

    def __init__(self, outer: "Scope | None" = None, is_class: bool = False, is_passing: bool = False) -> None:
        self.outer = outer
        self.is_class = is_class
        self.is_passing = is_passing  # one step of a comprehension: its results are not stored
        self.values: dict[str, list[Bound]] = {}
        self.stars: list[str] = []  # the modules of `from m import *`
        self.returns: list[ast.expr] = []
        self.elsewhere: dict[str, Scope] = {}  # global and nonlocal names

    def module(self) -> "Scope":
        scope = self
        while scope.outer is not None:
            scope = scope.outer
        return scope


class LocalDefinition:
    """A function or class that the file itself defines."""

    __slots__ = ("node", "scope", "is_method")

    def __init__(self, node: ast.AST, scope: Scope, is_method: bool = False) -> None:
        self.node = node
        self.scope = scope  # the scope inside the function or class
        self.is_method = is_method


class Element:
    """Any of the elements of an expression, such as the target of a loop."""

    __slots__ = ("of",)

    def __init__(self, of: ast.expr) -> None:
        self.of = of


Value = str | Const | LocalDefinition  # a dotted name of a module's object, a constant, or a definition of the file
Bound = tuple[str | ast.expr | Const | LocalDefinition | Element, Scope]
