"""Dotted names such as torch.cuda.Stream, the values by which facts name what a source uses; and the functions that
compute such names.
"""

UNKNOWN = "?"
# Functions that return an attribute of their first argument, whose name is their second.
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
# Prefixes by which the same objects are known, and the prefixes that facts use for them.
SAME = {
    "builtins.": "",
    "__builtins__.": "",
    "__builtin__.": "",
    "torch.cuda.streams.": "torch.cuda.",
    "torch.cuda.graphs.": "torch.cuda.",
}


def is_namespace(name: str) -> bool:
    return name.endswith(".__dict__") or name in ("sys.modules", "globals()", "locals()")


def joined(base: str, attr: str) -> str:
    """Returns the name of an attribute: "torch.cuda" and "Stream" give "torch.cuda.Stream". A name that has another
    spelling in facts is given that spelling.
    """
    if attr == "__call__" or attr == "__wrapped__":
        return base
    name = f"{base}.{attr}"
    for known, own in SAME.items():
        if name.startswith(known):
            return own + name.removeprefix(known)
    return name
