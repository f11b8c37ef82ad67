"""Calls."""

import ast
from itertools import islice
from typing import TYPE_CHECKING, Any

from harness.facts import constant_folding
from harness.facts.constant_folding import NotFoldable
from harness.facts.dotted_names import GETTERS, IMPORTERS, UNKNOWN, is_namespace, joined
from harness.facts.scope import ELEMENTS_MAX, Const, LocalDefinition, Scope, Value

if TYPE_CHECKING:
    from harness.facts.name_resolver import Resolver


def call_results(resolver: "Resolver", node: ast.Call, scope: Scope) -> tuple[Value, ...]:
    func = node.func
    found: list[Value] = []
    if isinstance(func, ast.Attribute):
        found += _method_result(resolver, func, node, scope)
        if found:
            return tuple(found)
    for value in resolver.resolve(func, scope):
        if type(value) is str:
            found += _named_call_results(resolver, value, node, scope)
        elif type(value) is LocalDefinition:
            found += _returned(resolver, value)
    return tuple(found)


def _returned(resolver: "Resolver", definition: LocalDefinition) -> list[Value]:
    found: list[Value] = []
    for value in definition.scope.returns:
        found += resolver.bound_values([(value, definition.scope)], "return")
    return found


def _method_result(resolver: "Resolver", func: ast.Attribute, node: ast.Call, scope: Scope) -> list[Value]:
    """ "".join(...), "...".format(...): of a constant, with constants."""
    bases = resolver.constants(func.value, scope)
    if not bases:
        return []
    keywords = {
        keyword.arg: resolver.constants(keyword.value, scope) for keyword in node.keywords if keyword.arg is not None
    }
    arguments = [resolver.constants(argument, scope) for argument in node.args]
    names = list(keywords)

    def apply(base: Any, *values: Any) -> Any:
        return constant_folding.method(
            base, func.attr, list(values[: len(arguments)]), dict(zip(names, values[len(arguments) :]))
        )

    return list(map(Const, resolver.fold(apply, [bases, *arguments, *keywords.values()])))


def _named_call_results(resolver: "Resolver", name: str, node: ast.Call, scope: Scope) -> list[Value]:
    """What a call of that name gives."""
    args = spread(node.args)
    if not args and (name == "__import__" or name in IMPORTERS):
        args = [keyword.value for keyword in node.keywords if keyword.arg == "name"]
    if name in GETTERS and len(args) >= 2:
        return _attribute_by_name(resolver, args[0], args[1], scope)
    owner, _, last = name.rpartition(".")
    if last == "__getattribute__" and len(args) == 1:
        texts = resolver.texts(args[0], scope)
        return [joined(owner, text) for text in texts or [UNKNOWN]]
    if last in ("get", "__getitem__", "pop", "setdefault") and args and is_namespace(owner):
        return [
            value for text in resolver.texts(args[0], scope) or [UNKNOWN] for value in resolver.item(owner, text, scope)
        ]
    if last == "copy" and not args and is_namespace(owner):
        return [owner]
    match name, args:
        case ("dict", [value]) if spaces := [base for base in resolver.bases(value, scope) if is_namespace(base)]:
            return list(spaces)
        case ("__import__", [module, *_]):
            whole = any(keyword.arg != "name" for keyword in node.keywords) or len(args) > 1
            return [text if whole else text.partition(".")[0] for text in resolver.texts(module, scope)] or [
                f"{UNKNOWN}()"
            ]
        case (_, [module, *_]) if name in IMPORTERS:
            return [text.replace(":", ".") for text in resolver.texts(module, scope)] or [f"{name}()"]
        case ("vars", [value]):
            return [f"{base}.__dict__" for base in resolver.bases(value, scope)]
        case ("type", [value]):
            return [joined(base, "__class__") for base in resolver.bases(value, scope)]
        case (
            "functools.partial" | "partial" | "functools.lru_cache" | "functools.cache" | "staticmethod",
            [value, *_],
        ):
            return list(resolver.resolve(value, scope))
        case ("eval", [text, *_]):
            return [
                found for source in resolver.texts(text, scope) for found in _evaluated(resolver, source, scope)
            ] or ["eval()"]
        case ("functools.reduce" | "reduce", [function, parts, start]) if "getattr" in resolver.names(function, scope):
            return _reduced(resolver, parts, start, scope)
        case ("map", [function, values]):
            return _mapped(resolver, function, values, scope)
    folded = _folded(resolver, name, node, scope)
    if folded:
        return folded
    if isinstance(node.func, ast.Call):
        return _from_operator(resolver, node.func, args, scope) or [f"{name}()"]
    return [f"{name}()"]


def _attribute_by_name(resolver: "Resolver", value: ast.expr, attr: ast.expr, scope: Scope) -> list[Value]:
    found: list[Value] = []
    texts = resolver.texts(attr, scope)
    for base in resolver.bases(value, scope):
        if not texts and base != UNKNOWN:
            found.append(joined(base, UNKNOWN))
        for text in texts:
            found.append(joined(base, text))
            if base == UNKNOWN and text in resolver.attributes:
                found += resolver.bound_values(resolver.attributes[text], text)
    return found


def _evaluated(resolver: "Resolver", source: str, scope: Scope) -> tuple[Value, ...]:
    try:
        expression = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    resolver.keep(expression)
    return resolver.resolve(expression, scope)


def _reduced(resolver: "Resolver", parts: ast.expr, start: ast.expr, scope: Scope) -> list[Value]:
    found: list[Value] = []
    for attrs in resolver.constants(parts, scope):
        if isinstance(attrs, (list, tuple)):
            found += [".".join([base, *map(str, attrs)]) for base in resolver.bases(start, scope)]
    return found


def _mapped(resolver: "Resolver", function: ast.expr, values: ast.expr, scope: Scope) -> list[Value]:
    for name in resolver.names(function, scope):
        for source in resolver.constants(values, scope):
            try:
                return [Const([constant_folding.call(name, [value], {}) for value in islice(source, ELEMENTS_MAX)])]
            except (NotFoldable, TypeError):
                continue
    for definition in resolver.resolve(function, scope):
        if (
            type(definition) is LocalDefinition
            and isinstance(definition.node, ast.Lambda)
            and len(definition.node.args.args) == 1
        ):
            parameter = definition.node.args.args[0]
            step = ast.comprehension(target=ast.Name(id=parameter.arg), iter=values, ifs=[], is_async=0)
            return list(resolver.comprehension(ast.ListComp(elt=definition.node.body, generators=[step]), scope))
    return ["map()"]


def _folded(resolver: "Resolver", name: str, node: ast.Call, scope: Scope) -> list[Value]:
    if name not in constant_folding.CALLS and not name.startswith(("str.", "bytes.")):
        return []
    arguments = [resolver.constants(argument, scope) for argument in node.args]
    keywords = {
        keyword.arg: resolver.constants(keyword.value, scope) for keyword in node.keywords if keyword.arg is not None
    }
    names = list(keywords)

    def apply(*values: Any) -> Any:
        return constant_folding.call(name, list(values[: len(arguments)]), dict(zip(names, values[len(arguments) :])))

    return list(map(Const, resolver.fold(apply, [*arguments, *keywords.values()])))


def _from_operator(resolver: "Resolver", maker: ast.Call, args: list[ast.expr], scope: Scope) -> list[Value]:
    """attrgetter("cuda.Stream")(torch), methodcaller("Stream")(torch.cuda), itemgetter("Stream")(vars(torch.cuda))"""
    if not maker.args or not args:
        return []
    found: list[Value] = []
    for name in resolver.names(maker.func, scope):
        for text in resolver.texts(maker.args[0], scope):
            for base in resolver.bases(args[0], scope):
                if name == "operator.attrgetter":
                    found.append(joined(base, text))
                elif name == "operator.itemgetter":
                    found += resolver.item(base, text, scope)
                elif name == "operator.methodcaller":
                    found.append(joined(base, text) + "()")
    return found


def spread(args: list[ast.expr]) -> list[ast.expr]:
    """f(*(a, b)) is f(a, b)."""
    return [
        value
        for arg in args
        for value in (
            arg.value.elts if isinstance(arg, ast.Starred) and isinstance(arg.value, (ast.List, ast.Tuple)) else [arg]
        )
    ]
