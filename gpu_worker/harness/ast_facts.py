"""What a Python source does, without running it: the facts of guard/facts.h, for the rules of guard/rules.h.

Names are followed through imports, plain assignments, getattr, subscripts and constant strings: `S = getattr(torch.cuda, "Str" + "eam")`
and then `S()` is a call of torch.cuda.Stream. Every value a name is ever given in its scope counts, in whatever order. What is only
computed when it runs stays unknown, as "?"; behaviour is judged elsewhere.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

UNKNOWN = "?"
VALUES_MAX = 8  # that one name may have; more are not followed
DEPTH_MAX = 60  # of an expression that is followed
NAME_MAX = 400  # characters of a fact's name
STEPS_MAX = 500_000  # of following names in one file; what people write takes a few thousand

# Where a name of a class stands without being used: nothing is made by naming its type.
HARMLESS_CALLS = frozenset({"isinstance", "issubclass", "type", "hasattr", "typing.cast", "cast"})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def facts_of(source: bytes, name: str) -> str:
    """The facts of one file, as text. Raises SyntaxError, or ValueError for bytes that are no source or nothing anybody would write."""
    facts = Facts()
    try:
        facts.read(ast.parse(source, filename=name))
    except (RecursionError, MemoryError) as error:
        raise ValueError("it is nested too deeply to be checked") from error
    lines = [f"file\t{clean(name)}"]
    for line, kind, used, argument in sorted(set(facts.found)):
        lines.append("\t".join([str(line), kind, clean(used), *([clean(argument)] if argument else [])]))
    return "\n".join(lines) + "\n"


def clean(text: str) -> str:
    """Printable ASCII and no longer than a fact may be."""
    return "".join(c if " " <= c <= "~" else UNKNOWN for c in text)[:NAME_MAX] or UNKNOWN


@dataclass(frozen=True)
class Text:
    """A constant string, as a value a name may have."""

    text: str


Value = str | Text  # a dotted name, or a string


@dataclass
class Scope:
    """Names bound in a module, class or function: to values that are followed, or to something else."""

    outer: "Scope | None" = None
    is_class: bool = False
    values: dict[str, list[ast.expr | str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)  # modules of `from m import *`

    def bind(self, name: str, value: ast.expr | str | None) -> None:
        known = self.values.setdefault(name, [])
        if value is not None and len(known) < VALUES_MAX:
            known.append(value)


class Facts:
    def __init__(self) -> None:
        self.found: list[tuple[int, str, str, str]] = []
        self._attributes: dict[str, list[tuple[ast.expr, Scope]]] = {}  # of self.NAME = value, in any class
        self._following: set[tuple[int, str]] = set()
        self._depth = 0
        self._steps = 0

    def read(self, tree: ast.Module) -> None:
        scope = Scope()
        self._bind_all(tree.body, scope)
        self._visit_all(tree.body, scope)

    # --- binding: who is called what, before anything is looked at

    def _bind_all(self, body: Iterable[ast.stmt], scope: Scope) -> None:
        for node in _own_nodes(body):
            self._bind(node, scope)

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    scope.bind(
                        alias.asname or alias.name.partition(".")[0],
                        alias.name if alias.asname else alias.name.partition(".")[0],
                    )
            case ast.ImportFrom(module=str() as module, level=0):
                for alias in node.names:
                    if alias.name == "*":
                        scope.stars.append(module)
                    else:
                        scope.bind(alias.asname or alias.name, f"{module}.{alias.name}")
            case ast.Assign():
                for target in node.targets:
                    self._bind_target(target, node.value, scope)
            case ast.AnnAssign(value=ast.expr() as value) | ast.NamedExpr(value=value):
                self._bind_target(node.target, value, scope)
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                for element in _elements(node.iter):
                    self._bind_target(node.target, element, scope)
                self._bind_target(node.target, None, scope)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    if item.optional_vars is not None:
                        self._bind_target(item.optional_vars, item.context_expr, scope)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                scope.bind(node.name, None)
            case ast.ExceptHandler(name=str() as name):
                scope.bind(name, None)
            case _:
                pass

    def _bind_target(self, target: ast.expr, value: ast.expr | None, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope.bind(name, value)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if value is not None:
                known = self._attributes.setdefault(name, [])
                if len(known) < VALUES_MAX:
                    known.append((value, scope))
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                values = _elements(value) if value is not None else []
                for i, each in enumerate(targets):
                    self._bind_target(each, values[i] if len(values) == len(targets) else None, scope)
            case ast.Starred(value=inner):
                self._bind_target(inner, None, scope)
            case _:
                pass

    # --- looking: what is called, derived from, handed on

    def _visit_all(self, nodes: Iterable[ast.AST], scope: Scope) -> None:
        for node in nodes:
            self._visit(node, scope)

    def _visit(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._visit_function(node, scope)
            case ast.ClassDef():
                self._visit_class(node, scope)
            case ast.Call():
                self._visit_call(node, scope)
            case ast.AnnAssign():
                # The annotation names a type and does nothing.
                self._visit_all([part for part in (node.target, node.value) if part is not None], scope)
                self._note_value(node.value, scope)
            case ast.Assign(value=ast.Name() | ast.Attribute()):
                # An alias: it is followed, and judged where it is used.
                self._visit_all([*node.targets, *ast.iter_child_nodes(node.value)], scope)
            case ast.Attribute() | ast.Name():
                self._visit_all(ast.iter_child_nodes(node), scope)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, (ast.Name, ast.Attribute)) and not isinstance(node, (ast.Compare, ast.Assign)):
                        self._note_value(child, scope)
                    self._visit(child, scope)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope) -> None:
        inner = Scope(outer=scope)
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args]
        for argument in [*named, *arguments.kwonlyargs, *filter(None, (arguments.vararg, arguments.kwarg))]:
            inner.bind(argument.arg, None)
        defaults = list(zip(named[len(named) - len(arguments.defaults) :], arguments.defaults))
        defaults += [
            (name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults) if value is not None
        ]
        for argument, value in defaults:
            inner.bind(argument.arg, value)
            self._visit(value, scope)
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        if not isinstance(node, ast.Lambda):
            self._visit_decorators(node.decorator_list, scope)
        self._bind_all(body, inner)
        self._visit_all(body, inner)

    def _visit_class(self, node: ast.ClassDef, scope: Scope) -> None:
        for base in node.bases:
            self._note(base, "base", base, scope)
            self._visit(base, scope)
        self._visit_decorators(node.decorator_list, scope)
        inner = Scope(outer=scope, is_class=True)
        self._bind_all(node.body, inner)
        self._visit_all(node.body, inner)

    def _visit_decorators(self, decorators: list[ast.expr], scope: Scope) -> None:
        for decorator in decorators:
            if not isinstance(decorator, ast.Call):
                self._note(decorator, "call", decorator, scope)
            self._visit(decorator, scope)

    def _visit_call(self, node: ast.Call, scope: Scope) -> None:
        names = [name for name in self._resolve(node.func, scope) if isinstance(name, str)]
        argument = self._argument(node, scope)
        for name in names:
            self.found.append((node.lineno, "call", name, argument))
        if any(name in ("exec", "eval", "compile", "builtins.exec", "builtins.eval") for name in names):
            self._visit_source(node, scope)
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if not HARMLESS_CALLS.intersection(names):
            for value in arguments:
                self._note_value(value, scope)
        self._visit_all([node.func, *arguments], scope)

    def _argument(self, node: ast.Call, scope: Scope) -> str:
        """What the first argument is; "?" when there is one and it cannot be told."""
        first = node.args[0] if node.args else node.keywords[0].value if node.keywords else None
        if first is None:
            return ""
        values = [value for value in self._resolve(first, scope) if isinstance(value, str)]
        return values[0] if len(values) == 1 else UNKNOWN

    def _visit_source(self, node: ast.Call, scope: Scope) -> None:
        """exec of a constant text is as good as the text itself, at that line."""
        for value in self._resolve(node.args[0], scope) if node.args else []:
            if not isinstance(value, Text) or self._depth > 3:
                continue
            try:
                tree = ast.parse(value.text)
            except (SyntaxError, ValueError):
                continue
            for inner in ast.walk(tree):
                if hasattr(inner, "lineno"):
                    inner.lineno = node.lineno
            self._depth += 1
            inner_scope = Scope(outer=scope)
            self._bind_all(tree.body, inner_scope)
            self._visit_all(tree.body, inner_scope)
            self._depth -= 1

    def _note_value(self, node: ast.expr | None, scope: Scope) -> None:
        if isinstance(node, (ast.Name, ast.Attribute)):
            self._note(node, "value", node, scope)

    def _note(self, at: ast.expr, kind: str, node: ast.expr, scope: Scope) -> None:
        for name in self._resolve(node, scope):
            # Only what comes from a module can be judged; the file's own names say nothing.
            if isinstance(name, str) and "." in name and not name.endswith("()"):
                self.found.append((at.lineno, kind, name, ""))

    # --- resolving: what an expression may be

    def _resolve(self, node: ast.expr, scope: Scope) -> list[Value]:
        """Dotted names and strings it may stand for; nothing where it is something of the file's own."""
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise ValueError("its names lead through too many others to be checked")
        if self._depth > DEPTH_MAX:
            return []
        self._depth += 1
        try:
            return list(dict.fromkeys(self._resolve_one(node, scope)))[:VALUES_MAX]
        finally:
            self._depth -= 1

    def _resolve_one(self, node: ast.expr, scope: Scope) -> list[Value]:
        match node:
            case ast.Name(id=name):
                return self._resolve_name(name, scope)
            case ast.Constant(value=str() as text):
                return [Text(text)]
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr) if attr in self._attributes:
                return [v for value, where in self._attributes[attr] for v in self._resolve_once(value, attr, where)]
            case ast.Attribute(value=value, attr=attr):
                return [f"{base}.{attr}" for base in self._bases(value, scope)]
            case ast.Call():
                return self._resolve_call(node, scope)
            case ast.Subscript(value=value, slice=index):
                return self._resolve_subscript(value, index, scope)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return [Text(a + b) for a in self._texts(left, scope) for b in self._texts(right, scope)]
            case ast.JoinedStr(values=parts):
                return self._joined([p.value if isinstance(p, ast.FormattedValue) else p for p in parts], "", scope)
            case ast.IfExp(body=one, orelse=other):
                return self._resolve(one, scope) + self._resolve(other, scope)
            case ast.BoolOp(values=values):
                return [v for value in values for v in self._resolve(value, scope)]
            case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
                return self._resolve(value, scope)
            case _:
                return []

    def _bases(self, node: ast.expr, scope: Scope) -> list[str]:
        """What stands before a dot; "?" for what cannot be told."""
        names = [value for value in self._resolve(node, scope) if isinstance(value, str)]
        return names or [UNKNOWN]

    def _resolve_name(self, name: str, scope: Scope) -> list[Value]:
        where: Scope | None = scope
        while where is not None:
            if name in where.values and not (where.is_class and where is not scope):
                return [v for value in where.values[name] for v in self._resolve_once(value, name, where)]
            if where.outer is None and where.stars:
                return [f"{module}.{name}" for module in where.stars] + [name]
            where = where.outer
        return [name]

    def _resolve_once(self, value: ast.expr | str, name: str, scope: Scope) -> list[Value]:
        """A name's value; nothing while that very name is being followed already."""
        if isinstance(value, str):
            return [value]
        key = (id(value), name)
        if key in self._following:
            return []
        self._following.add(key)
        try:
            return self._resolve(value, scope)
        finally:
            self._following.remove(key)

    def _resolve_call(self, node: ast.Call, scope: Scope) -> list[Value]:
        names = [name for name in self._resolve(node.func, scope) if isinstance(name, str)]
        found: list[Value] = []
        for name in names:
            match name, node.args:
                case ("getattr" | "builtins.getattr", [value, attr, *_]):
                    found += [
                        f"{base}.{text}" for base in self._bases(value, scope) for text in self._texts(attr, scope)
                    ]
                case ("__import__" | "importlib.import_module" | "builtins.__import__", [module, *_]):
                    texts = self._texts(module, scope)
                    found += [
                        text if name != "__import__" or node.keywords or len(node.args) > 1 else text.partition(".")[0]
                        for text in texts
                    ]
                case ("vars", [value]):
                    found += [f"{base}.__dict__" for base in self._bases(value, scope)]
                case ("functools.partial" | "partial", [value, *_]):
                    found += self._resolve(value, scope)
                case _:
                    found.append(f"{name}()")
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(value=str() as glue), attr="join"),
                args=[ast.List(elts=parts) | ast.Tuple(elts=parts)],
            ):
                return self._joined(parts, glue, scope)
            case _:
                return found

    def _resolve_subscript(self, value: ast.expr, index: ast.expr, scope: Scope) -> list[Value]:
        if isinstance(index, ast.Slice):
            backwards = isinstance(index.step, ast.UnaryOp) and index.lower is None and index.upper is None
            return [Text(text[::-1]) for text in self._texts(value, scope)] if backwards else []
        elements = _elements(value)
        if elements:  # [torch.cuda.Stream][0]
            return [v for element in elements for v in self._resolve(element, scope)]
        found: list[Value] = []
        for base in self._bases(value, scope):
            for text in self._texts(index, scope):
                if base == "sys.modules":
                    found.append(text)
                else:
                    found.append(f"{base.removesuffix('.__dict__')}.{text}")
        return found

    def _texts(self, node: ast.expr, scope: Scope) -> list[str]:
        return [value.text for value in self._resolve(node, scope) if isinstance(value, Text)]

    def _joined(self, parts: list[ast.expr], glue: str, scope: Scope) -> list[Value]:
        texts: list[str] = []
        for part in parts:
            values = self._texts(part, scope)
            if not values:
                return []
            texts.append(values[0])
        return [Text(glue.join(texts))]


def _elements(node: ast.expr | None) -> list[ast.expr]:
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return elements[:VALUES_MAX]
        case ast.Dict(values=values):
            return values[:VALUES_MAX]
        case _:
            return []


def _own_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every node below that belongs to the same scope: functions and classes are named, not entered."""
    waiting = list(body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
