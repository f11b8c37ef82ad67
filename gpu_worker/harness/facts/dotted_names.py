"""Dotted names."""

UNKNOWN = "?"


def is_namespace(name: str) -> bool:
    return name.endswith(".__dict__") or name in ("sys.modules", "globals()", "locals()")


# What yields an attribute of its first argument by the name in its second.
GETTERS = frozenset(
    {
        "getattr",
        "inspect.getattr_static",
        "object.__getattribute__",
        "type.__getattribute__",
        "types.ModuleType.__getattribute__",
    }
)


IMPORTERS = frozenset({"importlib.import_module", "importlib.__import__", "pydoc.locate", "pkgutil.resolve_name"})


# Names under which the same is known: what an object of a library calls its own class, and the interpreter's own namespaces.
SAME = {
    "builtins.": "",
    "__builtins__.": "",
    "__builtin__.": "",
    "torch.cuda.streams.": "torch.cuda.",
    "torch.cuda.graphs.": "torch.cuda.",
}


def joined(base: str, attr: str) -> str:
    """torch.cuda + Stream. What is called by another name is given its own."""
    if attr == "__call__" or attr == "__wrapped__":
        return base
    name = f"{base}.{attr}"
    for known, own in SAME.items():
        if name.startswith(known):
            return own + name.removeprefix(known)
    return name
