"""What an expression may stand for: names followed through imports, assignments, calls of the file's own functions, getattr and its kin.

Every value a name is ever given counts, in whatever order and whichever branch: what is followed is what *may* be meant. Arguments of the
file's own functions count as values of their parameters. What is only computed when it runs stays unknown.
"""

import ast
import math
from collections.abc import Iterable
from itertools import islice, product
from typing import Any

from harness.facts import constant_folding
from harness.facts.call_results import call_results
from harness.facts.constant_folding import NotFoldable
from harness.facts.dotted_names import UNKNOWN, joined
from harness.facts.scope import ELEMENTS_MAX, Bound, Const, Element, LocalDefinition, Scope, Value

VALUES_MAX = 16  # that one name or expression may have
DEPTH_MAX = 400  # of names and expressions that are followed through each other
STEPS_MAX = 400_000  # of following names in one file; what people write takes a few thousand
COMBINATIONS_MAX = 64  # of the values of an expression's parts


class TooComplex(ValueError):
    """Nobody writes this; it would take too long to follow."""


class Resolver:
    def __init__(self) -> None:
        self.attributes: dict[str, list[Bound]] = {}  # of self.NAME = value, and of names in classes, in any class
        self.unfollowed: list[Bound] = []  # values beyond VALUES_MAX of one name
        self.lambdas: dict[int, LocalDefinition] = {}
        self._last_outputs: list[ast.expr] = []  # what eval evaluates: an id is remembered, so its node must stay
        self._following: set[tuple[int, str, int]] = set()
        self._known: dict[tuple[int, int], tuple[Value, ...]] = {}
        self._partial: dict[tuple[int, int], tuple[Value, ...]] = {}
        self._cycles = 0
        self._depth = 0
        self._steps = 0

    # --- binding

    def bind(
        self,
        scope: Scope,
        name: str,
        value: str | ast.expr | Const | LocalDefinition | Element | None,
        where: Scope | None = None,
    ) -> bool:
        """`name` may stand for that, as seen from `where`; None for something that is not followed. False: nothing new."""
        scope = scope.elsewhere.get(name, scope)
        known = scope.values.setdefault(name, [])
        if value is None or any(value is old for old, _ in known):
            return False
        bound: Bound = (value, where or scope)
        if len(known) < VALUES_MAX:
            known.append(bound)
        else:
            self.unfollowed.append(bound)
        if scope.is_class:
            self.bind_attribute(name, value, where or scope)
        return True

    def bind_attribute(
        self, name: str, value: str | ast.expr | Const | LocalDefinition | Element, where: Scope
    ) -> None:
        known = self.attributes.setdefault(name, [])
        if len(known) < VALUES_MAX:
            known.append((value, where))
        else:
            self.unfollowed.append((value, where))

    def keep(self, node: ast.expr) -> None:
        """Keeps a node alive."""
        self._last_outputs.append(node)

    def forget_results(self) -> None:
        """After binding more: what was told before may be told differently now."""
        self._known.clear()

    # --- resolving

    def resolve(self, node: ast.expr, scope: Scope) -> tuple[Value, ...]:
        key = (id(node), id(scope))
        known = self._known.get(key)
        if known is None and self._depth:
            known = self._partial.get(key)
        if known is not None:
            return known
        handler = HANDLERS.get(type(node))
        if handler is None:
            return ()
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise TooComplex("its names lead through too many others to be checked")
        if self._depth > DEPTH_MAX:
            raise TooComplex("its names lead through each other too deeply to be checked")
        self._depth += 1
        cuts = self._cycles
        try:
            found: tuple[Value, ...] = handler(self, node, scope)
        finally:
            self._depth -= 1
        if len(found) > 1:
            found = tuple(islice(dict.fromkeys(found), VALUES_MAX))
        if not scope.is_passing:
            # What leads in a circle is known in part until the question that came first is answered.
            (self._known if cuts == self._cycles or not self._depth else self._partial)[key] = found
        if not self._depth:
            self._partial.clear()
            self._cycles = 0
        return found

    def names(self, node: ast.expr, scope: Scope) -> list[str]:
        return [value for value in self.resolve(node, scope) if type(value) is str]

    def constants(self, node: ast.expr, scope: Scope) -> list[Any]:
        return [value.value for value in self.resolve(node, scope) if type(value) is Const]

    def texts(self, node: ast.expr, scope: Scope) -> list[str]:
        return [text for text in self.constants(node, scope) if isinstance(text, str)]

    def bases(self, node: ast.expr, scope: Scope) -> list[str]:
        """What stands before a dot; "?" for what cannot be told."""
        return self.names(node, scope) or [UNKNOWN]

    def keywords(self, node: ast.Call, scope: Scope) -> list[tuple[str, ast.expr]]:
        """Arguments by name, those of **{...} among them."""
        found: list[tuple[str, ast.expr]] = []
        for keyword in node.keywords:
            if keyword.arg is not None:
                found.append((keyword.arg, keyword.value))
                continue
            for literal, where in self._literals(keyword.value, scope):
                if isinstance(literal, ast.Dict):
                    for key, value in zip(literal.keys, literal.values):
                        found += [(text, value) for text in (self.texts(key, where) if key is not None else [])]
        return found

    def _literals(self, node: ast.expr, scope: Scope) -> list[tuple[ast.expr, Scope]]:
        """The displays that an expression may stand for: itself, or those its name was given."""
        if not isinstance(node, ast.Name):
            return [(node, scope)]
        where = self._scope_of(node.id, scope)
        values = where.values[node.id] if where is not None else []
        return [(value, seen) for value, seen in values if isinstance(value, ast.expr)]

    def _scope_of(self, name: str, scope: Scope) -> Scope | None:
        where: Scope | None = scope
        while where is not None:
            if name in where.values and not (where.is_class and where is not scope):
                return where
            where = where.outer
        return None

    def bound_to(self, name: str, scope: Scope) -> list[Bound]:
        """All that a name was given where it is seen from `scope`."""
        where = self._scope_of(name, scope)
        return where.values[name] if where is not None else []

    def _name(self, node: ast.Name, scope: Scope) -> tuple[Value, ...]:
        return self._by_name(node.id, scope)

    def _by_name(self, name: str, scope: Scope) -> tuple[Value, ...]:
        where = self._scope_of(name, scope)
        if where is None:
            module = scope.module()
            return (*(joined(star, name) for star in module.stars), name)
        return self.bound_values(where.values[name], name)

    def bound_values(self, values: list[Bound], name: str) -> tuple[Value, ...]:
        found: list[Value] = []
        for value, where in values:
            if isinstance(value, (str, Const, LocalDefinition)):
                found.append(value)
                continue
            key = (id(value), name, id(where))
            if key in self._following:
                self._cycles += 1
                continue
            self._following.add(key)
            try:
                found += self._elements(value.of, where) if isinstance(value, Element) else self.resolve(value, where)
            finally:
                self._following.remove(key)
        return tuple(found)

    def _elements(self, node: ast.expr, scope: Scope) -> list[Value]:
        found: list[Value] = []
        for literal, where in self._literals(node, scope):
            found += self.bound_values([(element, where) for element in elements(literal)], "element")
        for value in self.constants(node, scope):
            if isinstance(value, (list, tuple, dict, set)):
                found += [Const(element) for element in islice(value, VALUES_MAX)]
        return found

    def _attribute(self, node: ast.Attribute, scope: Scope) -> tuple[Value, ...]:
        attr = node.attr
        found: list[Value] = []
        bases = self.resolve(node.value, scope)
        for base in bases:
            if type(base) is str:
                name = joined(base, attr)
                found.append(Const(constant_folding.CONSTANTS[name]) if name in constant_folding.CONSTANTS else name)
        # Of the file's own objects by the attribute's name alone: whose it is would take types to tell.
        if not found:
            if attr in self.attributes:
                found += self.bound_values(self.attributes[attr], attr)
            if not found:
                found.append(f"{UNKNOWN}.{attr}")
        elif all(type(base) is str and base.endswith("()") for base in bases) and attr in self.attributes:
            found += self.bound_values(self.attributes[attr], attr)
        return tuple(found)

    def _constant(self, node: ast.Constant, scope: Scope) -> tuple[Value, ...]:
        return () if node.value is Ellipsis or isinstance(node.value, complex) else (Const(node.value),)

    def _binary(self, node: ast.BinOp, scope: Scope) -> tuple[Value, ...]:
        # A long sum is nested to its left: it is walked, not dived into.
        spine: list[ast.BinOp] = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        lefts = self.constants(spine[-1].left, scope)
        for each in reversed(spine):
            if not lefts:
                return ()
            rights = self.constants(each.right, scope)
            # "%s..." % (a, b) needs no tuple of constants to be one
            lefts = self.fold(lambda left, right, op=each.op: constant_folding.binary(op, left, right), [lefts, rights])
        return tuple(map(Const, lefts))

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> tuple[Value, ...]:
        return tuple(
            map(
                Const,
                self.fold(lambda value: constant_folding.unary(node.op, value), [self.constants(node.operand, scope)]),
            )
        )

    def _joined(self, node: ast.JoinedStr, scope: Scope) -> tuple[Value, ...]:
        parts: list[list[Any]] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if part.format_spec is not None or part.conversion not in (-1, 115):
                    return ()
                parts.append(self.constants(part.value, scope))
            else:
                parts.append(self.constants(part, scope))
        return tuple(map(Const, self.fold(lambda *texts: constant_folding.bounded("".join(map(str, texts))), parts)))

    def _list(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> tuple[Value, ...]:
        if len(node.elts) > ELEMENTS_MAX:
            return ()
        parts = []
        for element in node.elts:
            parts.append(self.constants(element, scope))
            if not parts[-1]:
                return ()
        make = tuple if isinstance(node, ast.Tuple) else list
        return tuple(map(Const, self.fold(lambda *values: make(values), parts)))

    def _dict(self, node: ast.Dict, scope: Scope) -> tuple[Value, ...]:
        found = {}
        for key, value in zip(node.keys, node.values):
            keys = self.constants(key, scope) if key is not None else []
            values = self.constants(value, scope)
            if not keys or not values or not isinstance(keys[0], (str, bytes, int, float, bool)):
                return ()
            found[keys[0]] = values[0]
        return (Const(found),) if found else ()

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, scope: Scope) -> tuple[Value, ...]:
        """[f(c) for c in CONSTANT]; its elements are looked at one by one."""
        first = node.generators[0]
        if len(node.generators) != 1 or first.is_async or not isinstance(first.target, (ast.Name, ast.Tuple)):
            return ()
        for source in self.constants(first.iter, scope):
            if not isinstance(source, (str, bytes, list, tuple, dict, set)) or len(source) > ELEMENTS_MAX:
                continue
            found = []
            for element in source:
                step = Scope(outer=scope, is_passing=True)
                self._bind_step(first.target, element, step)
                kept = [self.constants(test, step) for test in first.ifs]
                if any(len(values) != 1 for values in kept):
                    return ()
                if all(values[0] for values in kept):
                    values = self.constants(node.elt, step)
                    if len(values) != 1:
                        return ()
                    found.append(values[0])
            return (Const(found),)
        return ()

    def _bind_step(self, target: ast.expr, element: Any, step: Scope) -> None:
        if isinstance(target, ast.Name):
            step.values[target.id] = [(Const(element), step)]
        elif isinstance(target, ast.Tuple) and isinstance(element, (list, tuple)):
            for each, part in zip(target.elts, element):
                self._bind_step(each, part, step)

    def _compare(self, node: ast.Compare, scope: Scope) -> tuple[Value, ...]:
        """Of constants, as the filter of a comprehension is."""
        if len(node.ops) != 1 or not scope.is_passing:
            return ()
        left, right = self.constants(node.left, scope), self.constants(node.comparators[0], scope)
        if len(left) != 1 or len(right) != 1:
            return ()
        equal = left[0] == right[0]
        match node.ops[0]:
            case ast.Eq():
                return (Const(equal),)
            case ast.NotEq():
                return (Const(not equal),)
            case _:
                return ()

    def _subscript(self, node: ast.Subscript, scope: Scope) -> tuple[Value, ...]:
        index = node.slice
        if isinstance(index, ast.Slice):
            bounds = [
                self.constants(part, scope) if part is not None else [None]
                for part in (index.lower, index.upper, index.step)
            ]
            return tuple(
                map(
                    Const,
                    self.fold(
                        lambda value, *b: constant_folding.subscript(value, slice(*b)),
                        [self.constants(node.value, scope), *bounds],
                    ),
                )
            )
        found: list[Value] = []
        for literal, where in self._literals(node.value, scope):  # [torch.cuda.Stream][0]
            found += self.bound_values([(element, where) for element in elements(literal)], "element")
        indices = self.constants(index, scope)
        found += map(Const, self.fold(constant_folding.subscript, [self.constants(node.value, scope), indices]))
        for base in self.names(node.value, scope) or ([] if found else [UNKNOWN]):
            for text in indices or [UNKNOWN]:
                found += self.item(base, str(text), scope)
        return tuple(found)

    def item(self, base: str, key: str, scope: Scope) -> list[Value]:
        """NAMESPACE[key]"""
        if base in ("globals()", "locals()", "vars()"):
            return list(self._by_name(key, scope.module())) if key != UNKNOWN else [f"{base}.{UNKNOWN}"]
        if base == "sys.modules":
            return [key]
        return [joined(base.removesuffix(".__dict__"), key)]

    def _conditional(self, node: ast.IfExp, scope: Scope) -> tuple[Value, ...]:
        return self.resolve(node.body, scope) + self.resolve(node.orelse, scope)

    def _bool_op(self, node: ast.BoolOp, scope: Scope) -> tuple[Value, ...]:
        return tuple(found for value in node.values for found in self.resolve(value, scope))

    def _inner_value(self, node: ast.NamedExpr | ast.Await | ast.Starred, scope: Scope) -> tuple[Value, ...]:
        return self.resolve(node.value, scope)

    def _lambda(self, node: ast.Lambda, scope: Scope) -> tuple[Value, ...]:
        definition = self.lambdas.get(id(node))
        return (definition,) if definition is not None else ()

    def fold(self, function: Any, parts: Iterable[list[Any]]) -> list[Any]:
        """The function of every combination; of more than are followed, nothing: then it cannot be told."""
        parts = list(parts)
        if math.prod(map(len, parts)) > COMBINATIONS_MAX:
            return []
        found = []
        for values in product(*parts):
            try:
                found.append(function(*values))
            except NotFoldable:
                continue
        return found


def elements(node: ast.expr | None) -> list[ast.expr]:
    match node:
        case ast.List(elts=found) | ast.Tuple(elts=found) | ast.Set(elts=found):
            return found[:VALUES_MAX]
        case ast.Dict(values=found):
            return found[:VALUES_MAX]
        case _:
            return []


HANDLERS: dict[type, Any] = {
    ast.Name: Resolver._name,
    ast.Attribute: Resolver._attribute,
    ast.Constant: Resolver._constant,
    ast.Call: call_results,
    ast.Subscript: Resolver._subscript,
    ast.BinOp: Resolver._binary,
    ast.UnaryOp: Resolver._unary,
    ast.JoinedStr: Resolver._joined,
    ast.List: Resolver._list,
    ast.Tuple: Resolver._list,
    ast.Set: Resolver._list,
    ast.Dict: Resolver._dict,
    ast.ListComp: Resolver.comprehension,
    ast.GeneratorExp: Resolver.comprehension,
    ast.SetComp: Resolver.comprehension,
    ast.Compare: Resolver._compare,
    ast.IfExp: Resolver._conditional,
    ast.BoolOp: Resolver._bool_op,
    ast.NamedExpr: Resolver._inner_value,
    ast.Await: Resolver._inner_value,
    ast.Starred: Resolver._inner_value,
    ast.Lambda: Resolver._lambda,
}
