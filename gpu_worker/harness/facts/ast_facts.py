"""Reads what a Python source does without running it, and writes the facts that guard/facts.h describes. The guard's
rules (guard/rules.h) judge them.

The source is read in two walks. The first (ast_walk.py) binds every name (name_resolver.py) and collects calls,
classes, assignments and texts. Then the arguments of the file's own functions become values of their parameters, and
texts given to exec are read as sources. The second walk, in this module, resolves the names of what was collected and
adds a fact for each.
"""

import ast
import io
import re
import sys
import tokenize
import unicodedata
from collections.abc import Iterable

from harness.facts import new_modules
from harness.facts.ast_walk import Place, Walk
from harness.facts.dotted_names import UNKNOWN, joined
from harness.facts.embedded_code import (
    CODE_BYTES_MAX,
    COMPILERS,
    HOLE,
    SOURCES,
    code_lines,
    looks_like_cpp,
    parse_embedded_python,
)
from harness.facts.known_imports import KNOWN
from harness.facts.name_resolver import Resolver, TooComplex
from harness.facts.scope import Const, Scope

# The version of the facts. A build cache may hold facts of an older version.
VERSION = 2
NAME_MAX = 300  # characters of a fact's name
LONG_TEXT = 2000  # characters; a program in a string that is longer is worth a fact
PAYLOADS_MAX = 64  # texts given to exec in one file
RECURSION = 8000  # Python frames, enough for DEPTH_MAX of name_resolver.py

# Calls that return the current stream. A rule does not care which of them an argument is.
CURRENT_STREAMS = frozenset(
    {"torch.cuda.current_stream()", "torch.cuda.default_stream()", "torch.accelerator.current_stream()"}
)
HARMLESS_CALLS = frozenset({"isinstance", "issubclass", "type", "hasattr", "typing.cast", "cast", "typing.TypeVar"})
EXEC_FUNCTIONS = frozenset({"exec", "eval", "compile"})
SETTERS = frozenset(
    {
        "setattr",
        "delattr",
        "object.__setattr__",
        "type.__setattr__",
        "object.__delattr__",
        "unittest.mock.patch.object",
        "mock.patch.object",
    }
)
# Objects whose items are names: an assignment to an item assigns to a name.
NAMESPACE = re.compile(r"^(?:os\.environ|sys\.modules|globals\(\))$|f_globals|f_locals|f_builtins|__")
BINARY = ("f0VMR", "\x7fELF", "7f454c46", "UEsDB")  # beginnings of base64, bytes and hexadecimal digits of binaries
COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)")


def facts_of(source: bytes, name: str, alone: bool = True) -> str:
    """Returns the facts of one file as text. Raises SyntaxError, or ValueError for bytes that are no source or too
    complex to check.

    `alone` says that no other Python file is submitted with this one, so that a function which the file never mentions
    is never called.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, RECURSION))
    try:
        facts = Facts(source, name, alone)
    except (RecursionError, MemoryError) as error:
        raise ValueError("it is nested too deeply to be checked") from error
    finally:
        sys.setrecursionlimit(limit)
    lines = [f"file\t{clean(name)}\t{VERSION}"]
    for line, kind, used, argument, is_dead in sorted(facts.found):
        fact = f"{line}\t{kind}\t{clean(used)}"
        if argument or is_dead:
            fact += f"\t{clean(argument) if argument else ''}"
        lines.append(fact + "\tdead" if is_dead else fact)
    lines += facts.code
    return "\n".join(lines) + "\n"


def slot(base: str, name: str) -> str:
    """Returns the name that an assignment assigns to. Builtins have names of their own when they are used, but not when
    they are replaced.
    """
    return f"builtins.{name}" if base in ("builtins", "__builtins__") else joined(base, name)


def clean(text: str) -> str:
    """Returns the text as printable ASCII, cut off at NAME_MAX."""
    text = text[:NAME_MAX]
    if text.isascii() and text.isprintable():
        return text or UNKNOWN
    return "".join(c if " " <= c <= "~" else UNKNOWN for c in text) or UNKNOWN


class Facts:
    def __init__(self, source: bytes, name: str, alone: bool) -> None:
        self.found: set[tuple[int, str, str, str, bool]] = set()
        self.code: list[str] = []
        self._texts: set[str] = set()
        self._code_bytes = 0
        self._names = Resolver()
        self._walk = Walk(self._names)
        self._module = Scope()
        tree = ast.parse(source, filename=name)
        self._add_encoding_notes(source)
        self._walk.module(tree.body, self._module)
        for usual, path in KNOWN.items():
            self._names.bind(self._module, usual, path)  # in addition to the file's own binding, which may never run
        self._resolve_until_stable()
        self._dead = self._walk.never_called() if alone else frozenset()
        self._add_all()

    def _resolve_until_stable(self) -> None:
        """Repeats until nothing new is bound: arguments become values of parameters, and texts given to exec become
        sources.
        """
        calls_seen, payloads = 0, 0
        for _ in range(4):
            self._walk.bind_arguments()
            self._names.forget_results()
            calls, calls_seen = self._walk.calls[calls_seen:], len(self._walk.calls)
            for node, scope, place in calls:
                if payloads < PAYLOADS_MAX and self._is_exec(node, scope):
                    payloads += self._read_payloads(node, scope, place)
            if calls_seen == len(self._walk.calls):
                break

    def _is_exec(self, node: ast.Call, scope: Scope) -> bool:
        func = node.func
        # Only calls that can be exec are resolved, because resolving every call would be slow.
        if (
            isinstance(func, ast.Name)
            or (isinstance(func, ast.Attribute) and func.attr in EXEC_FUNCTIONS)
            or isinstance(func, (ast.Call, ast.Subscript))
        ):
            return bool(node.args) and not EXEC_FUNCTIONS.isdisjoint(self._names.names(func, scope))
        return False

    def _read_payloads(self, node: ast.Call, scope: Scope, place: Place) -> int:
        """Reads the constant texts that exec is given as sources, at the line of the call. Returns their number."""
        count = 0
        for text in self._names.constants(node.args[0], scope):
            if isinstance(text, (bytes, bytearray)):
                text = bytes(text).decode(errors="replace")
            if not isinstance(text, str) or text in self._texts:
                continue
            self._texts.add(text)
            try:
                tree = ast.parse(text)
            except (SyntaxError, ValueError):
                continue
            count += 1
            self._walk.payload(tree, node.lineno, scope, place)
        return count

    # --- adding facts

    def _add(self, place: Place, line: int, kind: str, name: str, argument: str = "") -> None:
        self.found.add((line, kind, name, argument, place.is_dead or place.owner in self._dead))

    def _add_encoding_notes(self, source: bytes) -> None:
        """Adds notes about bytes that mislead a reader: another encoding, and identifiers that look like ASCII."""
        for number, line in enumerate(source.split(b"\n", 2)[:2], start=1):
            cookie = COOKIE.match(line)
            if cookie and cookie.group(1).lower().replace(b"_", b"-") not in (b"utf-8", b"utf8", b"ascii", b"us-ascii"):
                self.found.add((number, "note", "source.encoding", cookie.group(1).decode(), False))
        if source.isascii():
            return
        try:
            for token in tokenize.tokenize(io.BytesIO(source).readline):
                if token.type == tokenize.NAME and not token.string.isascii():
                    plain = unicodedata.normalize("NFKC", token.string)
                    if plain.isascii():
                        self.found.add((token.start[0], "note", "source.identifier", plain, False))
        except (tokenize.TokenError, SyntaxError, IndentationError):
            return

    def _add_all(self) -> None:
        walk = self._walk
        for node, scope, place in walk.calls:
            self._add_call(node, scope, place)
        for node, scope, place in walk.decorators:
            for name in self._names.names(node, scope):
                self._add(place, node.lineno, "call", name)
        for node, scope, place in walk.bases:
            self._add_named("base", node, scope, place)
        for node, scope, place in walk.values:
            self._add_named("value", node, scope, place)
        for target, scope, place, assigned in walk.targets:
            self._add_target(target, scope, place, assigned)
        for node, scope, place in walk.reads:
            for name in self._names.names(node, scope):
                self._add(place, node.lineno, "read", name)
        for node, scope, place in walk.texts:
            self._add_text(node, scope, place)
        for value, scope in self._names.unfollowed:
            if isinstance(value, (ast.Name, ast.Attribute)):
                self._add_named("value", value, scope, Place())
        for module, line, place in walk.imports:
            self._add(place, line, "import", module)

    def _add_named(self, kind: str, node: ast.expr, scope: Scope, place: Place) -> None:
        for name in self._names.names(node, scope):
            # Only names from a module can be judged; the file's own names say nothing.
            if ("." in name and not name.endswith("()")) or name in EXEC_FUNCTIONS:
                self._add(place, node.lineno, kind, name)

    def _add_call(self, node: ast.Call, scope: Scope, place: Place) -> None:
        names = self._names.names(node.func, scope)
        if not names:
            self._add_values(node, scope, place)
            return
        argument = self._argument(node, scope)
        for name in names:
            self._add(
                place, node.lineno, "call", name, self._exec_origin(node, scope) if name in EXEC_FUNCTIONS else argument
            )
            if name in SETTERS or name.endswith("__setattr__"):
                self._add_setattr(name, node, scope, place)
            elif name in ("unittest.mock.patch", "mock.patch"):
                for text in self._names.texts(node.args[0], scope) if node.args else []:
                    self._add(place, node.lineno, "set", text, UNKNOWN)
            elif ".__dict__." in name or name.startswith("os.environ.") or name.startswith("globals()."):
                self._add_update(name, node, scope, place)
            if COMPILERS.search(name):
                self._add_compiler(name, node, scope, place)
        if node.keywords:
            self._add_options(names, node, scope, place)
        if HARMLESS_CALLS.isdisjoint(names):
            self._add_values(node, scope, place)

    def _add_values(self, node: ast.Call, scope: Scope, place: Place) -> None:
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(value, ast.Starred):
                value = value.value
            if isinstance(value, (ast.Name, ast.Attribute)):
                self._add_named("value", value, scope, place)

    def _argument(self, node: ast.Call, scope: Scope) -> str:
        """Returns the first argument of a call: a name, a text after a quote, "?" if it cannot be told, or an empty
        text if there is none.
        """
        first = node.args[0] if node.args else node.keywords[0].value if node.keywords else None
        if first is None:
            return ""
        values = self._names.resolve(first, scope)
        if len(values) > 1 and all(
            value in CURRENT_STREAMS or (type(value) is Const and value.value is None) for value in values
        ):
            return next(value for value in (*values, "None") if type(value) is str)  # any of them will do
        if len(values) == 1:
            value = values[0]
            if type(value) is str:
                return value
            if type(value) is Const and value.value is None:
                return "None"
            if type(value) is Const and isinstance(value.value, (str, bytes)):
                text = value.value if isinstance(value.value, str) else value.value.decode(errors="replace")
                return f'"{text[:NAME_MAX]}'
        return UNKNOWN

    def _exec_origin(self, node: ast.Call, scope: Scope) -> str:
        """Returns how exec came by what it runs: the calls that made the text, or the kind of the text."""
        if not node.args:
            return ""
        constants = self._names.constants(node.args[0], scope)
        made = self._calls_in(node.args[0], scope)
        if any(isinstance(text, (str, bytes)) and len(text) > LONG_TEXT for text in constants):
            made.append("long text")
        if not made and constants:
            return "text"
        return " ".join(made) if made else UNKNOWN

    def _calls_in(self, node: ast.expr, scope: Scope, depth: int = 0) -> list[str]:
        """Returns the names of all calls in an expression and in what its names stand for."""
        found: list[str] = []
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call):
                found += [name for name in self._names.names(inner.func, scope)]
                if isinstance(inner.func, ast.Attribute) and not found:
                    found.append(f"{UNKNOWN}.{inner.func.attr}")
            elif isinstance(inner, ast.Name) and depth < 4:
                for value, where in self._names.bound_to(inner.id, scope):
                    if isinstance(value, ast.expr) and not isinstance(value, ast.Constant):
                        found += self._calls_in(value, where, depth + 1)
            if len(found) > 8:
                break
        return found[:8]

    def _add_setattr(self, setter: str, node: ast.Call, scope: Scope, place: Place) -> None:
        args = node.args
        bases: Iterable[str]
        if setter.endswith(".__setattr__") and setter not in SETTERS:  # torch.cuda.__setattr__("x", f)
            bases, attr = [setter.removesuffix(".__setattr__")], args[0] if args else None
        else:
            bases, attr = (self._names.bases(args[0], scope) if args else []), args[1] if len(args) > 1 else None
        texts = self._names.texts(attr, scope) if attr is not None else []
        for base in bases:
            for text in texts or [UNKNOWN]:
                self._add(
                    place,
                    node.lineno,
                    "set",
                    slot(base, text),
                    self._value(args[-1], scope) if len(args) > 1 else UNKNOWN,
                )

    def _add_update(self, name: str, node: ast.Call, scope: Scope, place: Place) -> None:
        """Handles NAMESPACE.update(x=...), .update({"x": ...}), .setdefault("x", ...), .__setitem__("x", ...) and
        .pop("x").
        """
        owner, _, last = name.rpartition(".")
        owner = owner.removesuffix(".__dict__")
        if last == "update":
            keys = [key for key, _ in self._names.keywords(node, scope)]
            for argument in node.args:
                dicts = [value for value in self._names.constants(argument, scope) if isinstance(value, dict)]
                keys += [str(key) for value in dicts for key in value]
                if not dicts and isinstance(argument, ast.Dict):
                    keys += [
                        text
                        for key in argument.keys
                        if key is not None
                        for text in self._names.texts(key, scope) or [UNKNOWN]
                    ]
                elif not dicts:
                    keys.append(UNKNOWN)
        elif last in ("setdefault", "__setitem__", "__delitem__", "pop", "clear", "popitem"):
            keys = (self._names.texts(node.args[0], scope) if node.args else []) or [UNKNOWN]
        else:
            return
        for key in keys:
            self._add(place, node.lineno, "set", slot(owner, key), UNKNOWN)

    def _add_target(self, node: ast.expr, scope: Scope, place: Place, value: ast.expr | None) -> None:
        """Adds an assignment to, or a deletion of, an attribute or item of something that is not the file's own."""
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                return
            for base in self._names.bases(node.value, scope):
                self._add(place, node.lineno, "set", slot(base, node.attr), self._value(value, scope))
        elif isinstance(node, ast.Subscript):
            for name in self._names.names(node.value, scope):
                owner = name.removesuffix(".__dict__")
                if owner == name and not NAMESPACE.search(name):
                    continue
                if owner == "sys.modules" and not isinstance(node.slice, ast.Slice):
                    self._add_module(node.slice, scope, place, value)
                    continue
                keys = [] if isinstance(node.slice, ast.Slice) else self._names.texts(node.slice, scope)
                for key in keys or [UNKNOWN]:
                    self._add(place, node.lineno, "set", slot(owner, key), self._value(value, scope))

    def _add_module(self, key: ast.expr, scope: Scope, place: Place, value: ast.expr | None) -> None:
        """Adds an assignment to an item of sys.modules. Its argument is the call that made the module if the name
        belongs to no other module.
        """
        for name in new_modules.names_of(self._names, key, scope, self._with_holes):
            maker = new_modules.maker_of(self._names, value, scope) if new_modules.is_new(name, HOLE) else ""
            shown = name.replace(HOLE, UNKNOWN)
            self._add(place, key.lineno, "set", slot("sys.modules", shown), maker or UNKNOWN)

    def _value(self, node: ast.expr | None, scope: Scope) -> str:
        """Returns the assigned value if it is one constant, else "?"."""
        constants = self._names.constants(node, scope) if node is not None else []
        return str(constants[0])[:NAME_MAX] if len(constants) == 1 else UNKNOWN

    def _add_options(self, names: list[str], node: ast.Call, scope: Scope, place: Place) -> None:
        """Adds the keyword arguments that are constants, such as compiler flags and modes."""
        known = [name for name in names if not name.startswith(UNKNOWN) and "." in name]
        if not known:
            return
        for keyword, value in self._names.keywords(node, scope):
            if keyword in SOURCES:
                continue
            for option in self._options(value, scope):
                for name in known:
                    self._add(place, node.lineno, "option", f"{name}({keyword})", option)

    def _options(self, node: ast.expr, scope: Scope) -> list[str]:
        found: list[str] = []
        for value in self._names.constants(node, scope):
            if isinstance(value, (list, tuple)):
                found += map(str, value)
                found.append(" ".join(map(str, value)))  # ["--default-stream", "per-thread"] may be one option
            elif isinstance(value, dict):
                found += [f"{key}={each}" for key, each in value.items()]
            else:
                found.append(str(value))
        if not found and isinstance(node, (ast.List, ast.Tuple, ast.BinOp)):
            parts = node.elts if not isinstance(node, ast.BinOp) else [node.left, node.right]
            found += [option for part in parts for option in self._options(part, scope)]
        return [option for option in found if option][:64]

    # --- C++ and CUDA in texts

    def _add_compiler(self, name: str, node: ast.Call, scope: Scope, place: Place) -> None:
        keywords = [(key, value) for key, value in self._names.keywords(node, scope) if key in SOURCES]
        positional = node.args if not name.endswith("load_inline") else node.args[1:3]
        for value in (*positional, *(value for _, value in keywords)):
            if not self._add_sources(value, scope, place) and not (
                isinstance(value, ast.Constant) or self._is_flag(value, scope)
            ):
                self._add(place, node.lineno, "note", "source.computed", name)

    def _is_flag(self, node: ast.expr, scope: Scope) -> bool:
        return isinstance(node, (ast.List, ast.Tuple)) and not node.elts or bool(self._names.constants(node, scope))

    def _add_sources(self, node: ast.expr, scope: Scope, place: Place) -> bool:
        """Adds the sources in an argument of a compiler. Returns whether all of the argument could be read."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return all([self._add_sources(element, scope, place) for element in node.elts])
        found = False
        for value in self._names.constants(node, scope):
            for text in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(text, (bytes, bytearray)):
                    text = bytes(text).decode(errors="replace")
                if isinstance(text, str):
                    self._add_code(text, self._line_of(node, scope), place)
                    found = True
        if found:
            return True
        holed = self._with_holes(node, scope)
        if holed is not None:
            self._add_code(holed, node.lineno, place)
        return holed is not None

    def _line_of(self, node: ast.expr, scope: Scope) -> int:
        """Returns the line at which a text begins: the constant's own line if a name stands for one constant."""
        if isinstance(node, ast.Name):
            values = [value for value, _ in self._names.bound_to(node.id, scope) if isinstance(value, ast.expr)]
            if len(values) == 1:
                return values[0].lineno
        return node.lineno

    def _with_holes(self, node: ast.expr, scope: Scope, depth: int = 0) -> str | None:
        """Returns a text in which HOLE stands for each part that is only known at run time; None if the expression is
        no such text.
        """
        texts = self._names.texts(node, scope)
        if len(texts) == 1:
            return texts[0]
        if depth > 6:
            return None
        match node:
            case ast.JoinedStr(values=values):
                parts = [self._with_holes(part, scope, depth + 1) or HOLE for part in values]
                return "".join(parts)
            case ast.FormattedValue(value=value):
                return self._with_holes(value, scope, depth + 1)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return (self._with_holes(left, scope, depth + 1) or HOLE) + (
                    self._with_holes(right, scope, depth + 1) or HOLE
                )
            case ast.BinOp(op=ast.Mod(), left=left):
                template = self._with_holes(left, scope, depth + 1)
                return re.sub(r"%(\(\w+\))?[sdrifgx]", HOLE, template) if template is not None else None
            case ast.Call(func=ast.Attribute(value=value, attr="format" | "format_map")):
                template = self._with_holes(value, scope, depth + 1)
                return (
                    re.sub(r"\{\w*\}", HOLE, template).replace("{{", "{").replace("}}", "}")
                    if template is not None
                    else None
                )
            case ast.Call(func=ast.Attribute(value=value, attr="replace"), args=[old, *_]):
                template = self._with_holes(value, scope, depth + 1)
                marks = self._names.texts(old, scope)
                return template.replace(marks[0], HOLE) if template is not None and marks and marks[0] else None
            case ast.Call(func=ast.Attribute(value=value, attr="substitute" | "safe_substitute")):
                return self._with_holes(value, scope, depth + 1)
            case ast.Call(func=ast.Attribute(attr="strip" | "lstrip" | "rstrip", value=value)):
                return self._with_holes(value, scope, depth + 1)
            case ast.Call(args=[value, *_]) if {"string.Template", "textwrap.dedent"}.intersection(
                self._names.names(node.func, scope)
            ):
                return self._with_holes(value, scope, depth + 1)
            case ast.Name(id=name):
                for bound, where in self._names.bound_to(name, scope):
                    if isinstance(bound, ast.expr) and not isinstance(bound, ast.Name):
                        holed = self._with_holes(bound, where, depth + 1)
                        if holed is not None:
                            return holed
        return None

    def _add_text(self, node: ast.expr, scope: Scope, place: Place) -> None:
        """Adds a text that looks like a source, wherever it is used, because it may be written to a file and compiled
        from there.
        """
        text = node.value if isinstance(node, ast.Constant) else self._with_holes(node, scope)
        if isinstance(text, bytes):
            text = text[:8].decode("latin-1")
        if not isinstance(text, str):
            return
        if text.startswith(BINARY):
            self._add(place, node.lineno, "note", "source.binary")
        if looks_like_cpp(text):
            self._add_code(text, node.lineno, place)
            return
        if text in self._texts:
            return
        tree = parse_embedded_python(text)
        if tree is not None:
            self._texts.add(text)
            inner = Facts.__new__(Facts)
            inner._add_embedded_python(tree, node.lineno, self)

    def _add_embedded_python(self, tree: ast.Module, line: int, outer: "Facts") -> None:
        """Reads a text that is a Python source on its own, and adds its facts as code that may never run."""
        self.found, self.code, self._texts, self._code_bytes = set(), [], outer._texts, outer._code_bytes
        self._names, self._module, self._dead = Resolver(), Scope(), frozenset()
        self._walk = Walk(self._names)
        self._walk.payload(tree, line, self._module, Place())
        self._resolve_until_stable()
        self._add_all()
        outer.found |= {
            (at, kind, name, argument, True)
            for at, kind, name, argument, _ in self.found
            if kind in ("call", "base", "set")
        }

    def _add_code(self, text: str, line: int, place: Place) -> None:
        if text in self._texts or not text.strip():
            return
        self._texts.add(text)
        self._code_bytes += len(text)
        if self._code_bytes > CODE_BYTES_MAX:
            raise TooComplex("it holds more sources in texts than can be checked")
        if not (place.is_dead or place.owner in self._dead):
            self.code += code_lines(text, line, len(self._texts))
