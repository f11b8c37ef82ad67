"""The first walk over a Python source: binds every name and collects what might matter, each with its scope and its place."""

import ast
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from harness.facts.dotted_names import joined
from harness.facts.name_resolver import Resolver
from harness.facts.scope import Element, LocalDefinition, Scope

# Attributes that lead from an object to what runs it.
INTERNAL_ATTRIBUTES = ("f_", "tb_", "gi_", "cr_", "co_", "__")
# Mentioning one of these, a source may call its functions by names that it makes up.
DYNAMIC = frozenset(
    "globals locals vars eval exec __import__ dir import_module modules __dict__ __globals__ getmembers get_objects get_referrers getattr_static "
    "_getframe currentframe __main__ attrgetter methodcaller getattr __getattribute__ inspect ctypes loads runpy FunctionType __code__".split()
)
MAIN = "if __name__ == '__main__'"  # the owner of what stands there
ENTRY = "ModelNew"  # what the harness asks a file for


class Place(NamedTuple):
    """Which function of the module a thing stands in, if any, or MAIN; and whether it is plain that it never runs."""

    owner: str = ""
    is_dead: bool = False


Item = tuple[Any, Scope, Place]


class Walk:
    def __init__(self, names: Resolver) -> None:
        self.calls: list[tuple[ast.Call, Scope, Place]] = []
        self.decorators: list[Item] = []
        self.bases: list[Item] = []
        self.values: list[Item] = []
        self.targets: list[tuple[ast.expr, Scope, Place, ast.expr | None]] = []
        self.reads: list[Item] = []
        self.texts: list[Item] = []
        self.imports: list[tuple[str, int, Place]] = []
        self._names = names
        self._place = Place()
        self._methods: dict[str, list[LocalDefinition]] = {}
        self._functions: dict[str, bool] = {}  # of the module: name -> may be called by others, whatever this file says
        self._mentioned: dict[str, set[str]] = {"": set()}
        self._line = 0  # of what exec runs; 0: lines are their own
        self._has_entry = False
        self._module_names: dict[str, Any] = {}

    def module(self, body: list[ast.stmt], scope: Scope) -> None:
        self._module_names = scope.values
        self._body(body, scope)

    def payload(self, tree: ast.Module, line: int, scope: Scope, place: Place) -> None:
        """What exec runs, at the line of the exec, in its scope."""
        for node in ast.walk(tree):
            if hasattr(node, "lineno"):
                node.lineno = line
        kept, self._place = self._place, place
        self._mention("exec")
        self._body(tree.body, scope)
        self._place = kept

    # --- who is never called

    def never_called(self) -> frozenset[str]:
        """Functions of the module that nothing in it mentions, and what only they mention; and what is for the main program. Nobody else
        calls them: the harness asks for the entry alone. None where the source may call by names that it makes up."""
        everything = set().union(*self._mentioned.values())
        if not DYNAMIC.isdisjoint(everything) or "__name__" in self._module_names:
            return frozenset()
        if not self._has_entry:
            return frozenset([MAIN])
        reached: set[str] = set()
        waiting = set(self._mentioned[""]) | {name for name, is_called in self._functions.items() if is_called}
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting |= self._mentioned.get(name, set()) - reached
        return frozenset([MAIN, *(name for name in self._functions if name not in reached)])

    def _mention(self, name: str) -> None:
        if not self._place.is_dead:
            self._mentioned.setdefault(self._place.owner, set()).add(name)

    # --- arguments become values of parameters

    def bind_arguments(self) -> None:
        for node, scope, _ in self.calls:
            func = node.func
            if isinstance(func, ast.Attribute):
                definitions = self._methods.get(func.attr, ())
                if not definitions:
                    continue
                definitions = (
                    [definition for definition in definitions if definition.is_method]
                    if isinstance(func.value, ast.Name)
                    else definitions
                )
            elif isinstance(func, ast.Constant):
                continue
            else:
                definitions = [
                    value for value in self._names.resolve(func, scope) if isinstance(value, LocalDefinition)
                ]
            for definition in definitions:
                self._pass_arguments(node, scope, definition)

    def _pass_arguments(self, node: ast.Call, scope: Scope, definition: LocalDefinition) -> None:
        if isinstance(definition.node, ast.ClassDef):
            makers = definition.scope.values.get("__init__", [])
            for maker, _ in makers:
                if isinstance(maker, LocalDefinition):
                    self._pass_arguments(node, scope, maker)
            return
        arguments = definition.node.args  # type: ignore[attr-defined]
        named = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        if definition.is_method and named:
            named = named[1:]
        for name, value in zip(named, node.args):
            if isinstance(value, ast.Starred):
                break
            self._names.bind(definition.scope, name, value, scope)
        known = {*named, *(argument.arg for argument in arguments.kwonlyargs)}
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg in known:
                self._names.bind(definition.scope, keyword.arg, keyword.value, scope)

    # --- the walk

    def _body(self, body: Iterable[ast.stmt], scope: Scope) -> None:
        kept = self._place
        for node in body:
            self._node(node, scope)
            if isinstance(node, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
                self._place = kept._replace(is_dead=True)
        self._place = kept

    def _node(self, node: ast.AST, scope: Scope) -> None:
        handler = HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node, scope)
        else:
            self._children(node, scope)

    def _children(self, node: ast.AST, scope: Scope) -> None:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                if name in ("body", "orelse", "finalbody") and not isinstance(node, ast.IfExp):
                    self._body(value, scope)
                else:
                    for each in value:
                        if isinstance(each, ast.AST):
                            self._node(each, scope)
            elif isinstance(value, ast.AST):
                self._node(value, scope)

    def _passed_value(self, node: ast.expr | None, scope: Scope) -> None:
        """A value that something else may then call."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            self.values.append((node, scope, self._place))
        if node is not None:
            self._node(node, scope)

    def _name(self, node: ast.Name, scope: Scope) -> None:
        self._mention(node.id)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        self._mention(node.attr)
        if node.attr.startswith(INTERNAL_ATTRIBUTES):
            self.reads.append((node, scope, self._place))
        self._node(node.value, scope)

    def _constant(self, node: ast.Constant, scope: Scope) -> None:
        value = node.value
        if isinstance(value, str) and value.isidentifier():
            self._mention(value)
        if isinstance(value, (str, bytes)) and len(value) > 8:
            self.texts.append((node, scope, self._place))

    def _joined(self, node: ast.JoinedStr, scope: Scope) -> None:
        self.texts.append((node, scope, self._place))
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                self._node(value.value, scope)

    def _call(self, node: ast.Call, scope: Scope) -> None:
        self.calls.append((node, scope, self._place))
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(), *_]):
                pass  # its name is plain to see
            case _:
                self._node(node.func, scope)
        asks_for_types = isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass")
        for value in node.args:
            # Types that are compared with are handed to nobody.
            for part in value.elts if asks_for_types and isinstance(value, ast.Tuple) else [value]:
                self._node(part, scope)
        for keyword in node.keywords:
            self._node(keyword.value, scope)

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> None:
        for value in node.elts:
            self._passed_value(value, scope)

    def _dict(self, node: ast.Dict, scope: Scope) -> None:
        for key, value in zip(node.keys, node.values):
            if key is not None:
                self._node(key, scope)
            self._passed_value(value, scope)

    def _either(self, node: ast.IfExp, scope: Scope) -> None:
        self._node(node.test, scope)
        self._node(node.body, scope)
        self._node(node.orelse, scope)

    def _return(self, node: ast.Return | ast.Yield | ast.YieldFrom, scope: Scope) -> None:
        if node.value is not None:
            if isinstance(node, ast.Return):
                scope.returns.append(node.value)
            self._passed_value(node.value, scope)

    def _expression(self, node: ast.Expr, scope: Scope) -> None:
        # A docstring, or another text that nothing reads.
        if not isinstance(node.value, ast.Constant):
            self._node(node.value, scope)

    def _import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            self.imports.append((alias.name, node.lineno, self._place))
            top = alias.name.partition(".")[0]
            self._names.bind(scope, alias.asname or top, alias.name if alias.asname else top)

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        module = node.module or ""
        if node.level or not module:
            return
        self.imports.append((module, node.lineno, self._place))
        for alias in node.names:
            if alias.name == "*":
                scope.module().stars.append(module)
                continue
            self.imports.append((f"{module}.{alias.name}", node.lineno, self._place))
            self._mention(alias.name)
            self._names.bind(scope, alias.asname or alias.name, _own_name(f"{module}.{alias.name}"))

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        followed = all(self._target(target, node.value, scope) for target in node.targets)
        if followed:
            self._node(node.value, scope)
        else:
            self._passed_value(node.value, scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        # The annotation names a type and does nothing.
        self._target(node.target, node.value, scope)
        if node.value is not None:
            self._passed_value(node.value, scope)

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        if isinstance(node.target, ast.Name):
            sum_ = ast.BinOp(left=ast.Name(id=node.target.id, ctx=ast.Load()), op=node.op, right=node.value)
            ast.copy_location(sum_, node)
            ast.copy_location(sum_.left, node)
            self._names.bind(scope, node.target.id, sum_)
        else:
            self._target(node.target, None, scope)
        self._node(node.value, scope)

    def _named(self, node: ast.NamedExpr, scope: Scope) -> None:
        where = scope
        self._target(node.target, node.value, where)
        self._node(node.value, scope)

    def _delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self._target(target, None, scope)

    def _target(self, target: ast.expr, value: ast.expr | None, scope: Scope) -> bool:
        """Binds what is assigned to; whether the value can be followed from there on."""
        match target:
            case ast.Name(id=name):
                self._names.bind(scope, name, value)
                return True
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
                for i, each in enumerate(targets):
                    if len(parts) == len(targets):
                        self._target(each, parts[i], scope)
                    else:
                        self._target(each, None, scope)
                        if value is not None and isinstance(each, ast.Name):
                            self._names.bind(scope, each.id, Element(value))
                return True
            case ast.Starred(value=inner):
                return self._target(inner, None, scope)
            case ast.Attribute(value=base, attr=name):
                self.targets.append((target, scope, self._place, value))
                self._node(base, scope)
                if value is not None:
                    self._names.bind_attribute(name, value, scope)
                return True
            case ast.Subscript():
                self.targets.append((target, scope, self._place, value))
                self._node(target.value, scope)
                self._node(target.slice, scope)
                return False
        return False

    def _for(self, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
        self._loop(node.target, node.iter, scope)
        self._body(node.body, scope)
        self._body(node.orelse, scope)

    def _loop(self, target: ast.expr, iterated: ast.expr, scope: Scope) -> None:
        self._target(target, None, scope)
        if isinstance(target, ast.Name):
            self._names.bind(scope, target.id, Element(iterated))
        elif isinstance(target, ast.Tuple):
            for i, each in enumerate(target.elts):
                if isinstance(each, ast.Name) and isinstance(iterated, (ast.List, ast.Tuple)):
                    for row in iterated.elts:
                        if isinstance(row, (ast.Tuple, ast.List)) and len(row.elts) == len(target.elts):
                            self._names.bind(scope, each.id, row.elts[i])
        self._node(iterated, scope)

    def _comprehension(self, node: Any, scope: Scope) -> None:
        inner = Scope(outer=scope)
        for generator in node.generators:
            self._loop(generator.target, generator.iter, inner)
            for test in generator.ifs:
                self._node(test, inner)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self._passed_value(part, inner)

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self._target(item.optional_vars, item.context_expr, scope)
            self._passed_value(item.context_expr, scope)
        self._body(node.body, scope)

    def _global(self, node: ast.Global | ast.Nonlocal, scope: Scope) -> None:
        where = scope.module() if isinstance(node, ast.Global) else scope.outer or scope
        for name in node.names:
            while isinstance(node, ast.Nonlocal) and name not in where.values and where.outer is not None:
                where = where.outer
            if where is not scope:
                scope.elsewhere[name] = where

    def _if(self, node: ast.If | ast.While, scope: Scope) -> None:
        kept = self._place
        if _is_main(node.test) and not kept.owner:
            self._place = kept._replace(owner=MAIN)
        else:
            self._node(node.test, scope)
            if isinstance(node.test, ast.Constant) and not node.test.value:
                self._place = kept._replace(is_dead=True)
        self._body(node.body, scope)
        self._place = kept
        self._body(node.orelse, scope)

    def _handler(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.name is not None:
            self._names.bind(scope, node.name, None)
        if node.type is not None:
            self._node(node.type, scope)
        self._body(node.body, scope)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        inner = Scope(outer=scope)
        is_static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list)
        definition = LocalDefinition(node, inner, scope.is_class and not is_static)
        self._names.bind(scope, node.name, definition)
        if scope.is_class:
            self._methods.setdefault(node.name, []).append(definition)
        self._parameters(node.args, inner, scope)
        self._decorators(node.decorator_list, scope)
        kept = self._place
        if scope.outer is None and not kept.owner:
            # Names like __getattr__ are for the interpreter to call.
            is_called = bool(node.decorator_list) or node.name.startswith("__")
            self._functions[node.name] = is_called or self._functions.get(node.name, False)
            self._place = kept._replace(owner=node.name)
        self._body(node.body, inner)
        self._place = kept

    def _lambda(self, node: ast.Lambda, scope: Scope) -> None:
        inner = Scope(outer=scope)
        self._names.lambdas[id(node)] = LocalDefinition(node, inner, scope.is_class)
        self._parameters(node.args, inner, scope)
        inner.returns.append(node.body)
        self._passed_value(node.body, inner)

    def _parameters(self, arguments: ast.arguments, inner: Scope, scope: Scope) -> None:
        named = [*arguments.posonlyargs, *arguments.args]
        for argument in [*named, *arguments.kwonlyargs, *filter(None, (arguments.vararg, arguments.kwarg))]:
            self._names.bind(inner, argument.arg, None)
        defaults = list(zip(named[len(named) - len(arguments.defaults) :], arguments.defaults))
        defaults += [
            (name, value) for name, value in zip(arguments.kwonlyargs, arguments.kw_defaults) if value is not None
        ]
        for argument, value in defaults:
            self._names.bind(inner, argument.arg, value, scope)
            self._node(value, scope)

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        if node.name == ENTRY and scope.outer is None:
            self._has_entry = True
        inner = Scope(outer=scope, is_class=True)
        self._names.bind(scope, node.name, LocalDefinition(node, inner))
        for base in (*node.bases, *(keyword.value for keyword in node.keywords)):
            self.bases.append((base, scope, self._place))
            self._node(base, scope)
        self._decorators(node.decorator_list, scope)
        self._body(node.body, inner)

    def _decorators(self, decorators: list[ast.expr], scope: Scope) -> None:
        for decorator in decorators:
            if not isinstance(decorator, ast.Call):
                self.decorators.append((decorator, scope, self._place))
            self._node(decorator, scope)


def _is_main(test: ast.expr) -> bool:
    """__name__ == "__main__": a submission is imported, never run as a program."""
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]):
            return True
    return False


def _own_name(name: str) -> str:
    owner, _, last = name.rpartition(".")
    return joined(owner, last) if owner else name


HANDLERS: dict[type, Callable[[Walk, Any, Scope], None]] = {
    ast.Name: Walk._name,
    ast.Attribute: Walk._attribute,
    ast.Constant: Walk._constant,
    ast.JoinedStr: Walk._joined,
    ast.Call: Walk._call,
    ast.List: Walk._sequence,
    ast.Tuple: Walk._sequence,
    ast.Set: Walk._sequence,
    ast.Dict: Walk._dict,
    ast.IfExp: Walk._either,
    ast.Return: Walk._return,
    ast.Yield: Walk._return,
    ast.YieldFrom: Walk._return,
    ast.Expr: Walk._expression,
    ast.Import: Walk._import,
    ast.ImportFrom: Walk._import_from,
    ast.Assign: Walk._assign,
    ast.AnnAssign: Walk._annotated,
    ast.AugAssign: Walk._augmented,
    ast.NamedExpr: Walk._named,
    ast.Delete: Walk._delete,
    ast.For: Walk._for,
    ast.AsyncFor: Walk._for,
    ast.ListComp: Walk._comprehension,
    ast.SetComp: Walk._comprehension,
    ast.GeneratorExp: Walk._comprehension,
    ast.DictComp: Walk._comprehension,
    ast.With: Walk._with,
    ast.AsyncWith: Walk._with,
    ast.Global: Walk._global,
    ast.Nonlocal: Walk._global,
    ast.If: Walk._if,
    ast.While: Walk._if,
    ast.ExceptHandler: Walk._handler,
    ast.FunctionDef: Walk._function,
    ast.AsyncFunctionDef: Walk._function,
    ast.Lambda: Walk._lambda,
    ast.ClassDef: Walk._class,
}
