"""Checks whether a library that was linked can be loaded, without loading it: that would run its constructors, which
are code of the job.

torch links a library whatever names it leaves undefined, and loading it fails at the first name that nothing defines.
Two readers must agree that a name is such a one:

- No library that this process has loaded defines it. The process has imported torch, as the process of the job will.
- The linker does not find it in any library that the link names.
"""

import ctypes
import re
from pathlib import Path

from harness.extensions.loader_call import Call
from harness.extensions.toolchain import Toolchain, run
from harness.kernels.cubin import plain_name

UNDEFINED = ("U", "w", "v")  # nm's letters; a weak name that nothing defines is no error
WORD = re.compile(r"[\w$.]+")
NAME_ALL_UNDEFINED = ("-Wl,-z,defs", "-Wl,--warn-unresolved-symbols", "-Wl,--no-demangle")


def load_error(tools: Toolchain, call: Call, library: Path, link: list[str]) -> str:
    """Returns what loading the library will fail with, in the words of the dynamic linker or of Python. Returns an
    empty text if the library loads, or if that is not known. `link` is the command that links it, without its output.
    """
    symbols = dynamic_symbols(library)
    unknown = not_loaded(tools, {name for name, kind in symbols if kind == "U"})
    if unknown:
        again = run([*link, *NAME_ALL_UNDEFINED, "-o", str(library.with_suffix(".checked"))], library.parent)
        named = set(WORD.findall(again.text))
        if missing := next((name for name in unknown if name in named), ""):
            return f"{call.name}.so: undefined symbol: {missing}"
    entry = f"PyInit_{call.name}"
    defined = {name for name, kind in symbols if kind not in UNDEFINED}
    if symbols and call.is_python_module and entry not in defined:
        return f"dynamic module does not define module export function ({entry})"
    return ""


def dynamic_symbols(library: Path) -> list[tuple[str, str]]:
    """Returns the names that the library exports or leaves to others, without versions, each with the letter that nm
    has for it. Returns none if nm fails.
    """
    result = run(["nm", "-D", str(library)], library.parent)
    words = [line.split()[-2:] for line in result.text.splitlines()] if result.code == 0 else []
    return [(found[1].partition("@")[0], found[0]) for found in words if len(found) == 2]


def not_loaded(tools: Toolchain, names: set[str]) -> list[str]:
    """Returns the names that neither this program, with the libraries that it shares with all others, nor a library of
    torch defines.
    """
    torch = tools.torch_root / "lib/libtorch_python.so"
    libraries = [ctypes.CDLL(None), *([ctypes.CDLL(str(torch))] if torch.exists() else [])]
    return sorted(name for name in names if not any(defines(library, name) for library in libraries))


def defines(library: ctypes.CDLL, name: str) -> bool:
    try:
        library[name]
    except AttributeError:
        return False
    return True


def is_in_no_source(error: str, texts: list[str], flags: list[str]) -> bool:
    """Returns whether the name that an error of load_error() misses stands in none of the texts and flags, so that
    compiling them otherwise cannot define it. An entry function may come from a macro.
    """
    is_entry = "undefined symbol: " not in error
    names = ("PyInit", "MODULE") if is_entry else (plain_name(error.rpartition(": ")[2]),)
    return not any(name in text for name in (*names, "##") for text in [*texts, *flags])
