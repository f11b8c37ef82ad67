"""Tells whether an assignment to sys.modules registers a new module under a name of its own, as the recipes of
Python's manual do, or puts something in the place of a module that exists.
"""

import ast
import sys
from collections.abc import Callable, Iterable

from harness.facts.dotted_names import UNKNOWN
from harness.facts.name_resolver import Resolver
from harness.facts.scope import Const, Scope

# Calls that make an empty module; the rules know them by these names.
MAKERS = frozenset({"importlib.util.module_from_spec()", "types.ModuleType()"})
# Calls whose first argument is the name of what they return.
NAMED = frozenset({"importlib.util.spec_from_file_location", "importlib.util.spec_from_loader", "types.ModuleType"})
# First parts of the names of modules that a child may hold, besides those of Python itself. A list keeps the facts of
# a source equal on every machine.
INSTALLED = frozenset(
    "__main__ cuda cupy cutlass filelock flash_attn fsspec functorch harness jinja2 kernelbench kq markupsafe mpmath "
    "networkx numpy nvidia packaging pip pkg_resources psutil pybind11 scipy setuptools sitecustomize sympy torch "
    "torchgen torchvision transformers triton typing_extensions usercustomize yaml".split()
)
KNOWN = sys.stdlib_module_names | INSTALLED
DEPTH_MAX = 6  # steps from spec.name to the call that was given the name

WithHoles = Callable[[ast.expr, Scope], str | None]


def is_new(name: str, hole: str) -> bool:
    """Returns whether no known module has the name, whatever stands in its holes. UNKNOWN is no new name."""
    begin = name.partition(hole)[0] if hole in name else name
    first, dot, _ = begin.partition(".")
    if not first or UNKNOWN in name:
        return False
    if dot or hole not in name:
        return first not in KNOWN
    return not any(known.startswith(first) for known in KNOWN)


def names_of(resolver: Resolver, node: ast.expr, scope: Scope, with_holes: WithHoles, depth: int = 0) -> list[str]:
    """Returns the names that a key of sys.modules may be; UNKNOWN among them if not all of them can be told."""
    values = resolver.resolve(node, scope)
    texts = [value.value for value in values if type(value) is Const and isinstance(value.value, str)]
    if texts:
        return texts if len(texts) == len(values) else [*texts, UNKNOWN]
    if depth > DEPTH_MAX:
        return [UNKNOWN]
    match node:
        case ast.JoinedStr() | ast.BinOp():
            return [with_holes(node, scope) or UNKNOWN]
        case ast.Name(id=name):
            return _all(
                names_of(resolver, value, where, with_holes, depth + 1) if isinstance(value, ast.expr) else []
                for value, where in resolver.bound_to(name, scope)
            )
        case ast.Attribute(value=ast.Name(id=name), attr="name" | "__name__"):
            return _all(
                _name_given(resolver, value, where, with_holes, depth + 1) if isinstance(value, ast.Call) else []
                for value, where in resolver.bound_to(name, scope)
            )
    return [UNKNOWN]


def _all(groups: Iterable[list[str]]) -> list[str]:
    """Returns the names of all groups; an empty group stands for a name that cannot be told."""
    return [name for group in groups for name in group or [UNKNOWN]] or [UNKNOWN]


def _name_given(resolver: Resolver, call: ast.Call, scope: Scope, with_holes: WithHoles, depth: int) -> list[str]:
    """Returns the names of the module or spec that a call makes."""
    if not call.args:
        return []
    made = resolver.names(call.func, scope)
    if made and NAMED.issuperset(made):
        return names_of(resolver, call.args[0], scope, with_holes, depth)
    if made == ["importlib.util.module_from_spec"]:
        spec = ast.copy_location(ast.Attribute(value=call.args[0], attr="name", ctx=ast.Load()), call)
        resolver.keep(spec)
        return names_of(resolver, spec, scope, with_holes, depth)
    return []


def maker_of(resolver: Resolver, value: ast.expr | None, scope: Scope) -> str:
    """Returns the call that made the assigned module, or an empty text if it may be something else."""
    values = resolver.resolve(value, scope) if value is not None else ()
    makers = [one for one in values if isinstance(one, str) and one in MAKERS]
    return makers[0] if makers and len(makers) == len(values) else ""
