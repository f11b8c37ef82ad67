"""One call of torch.utils.cpp_extension.load_inline or load, as data: what it wants compiled, and the name it is known by.

The record child makes these, the compile child builds them, the submission child finds what was built by their key. A key is a hash of
everything that shapes the module; where the call stands is not part of it.
"""

import hashlib
import inspect
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

CALLS_MAX = 16
SOURCE_BYTES_MAX = 4 << 20  # of one call
SOURCES_MAX = 64  # of each kind; these and the next are gpu_worker/compile/extension.h's too
FILES_MAX = 64
FUNCTIONS_MAX = 256
FLAGS_MAX = 256  # words
FLAG_BYTES_MAX = 1024
NAME_BYTES_MAX = 128
FUNCTION = re.compile(r"[A-Za-z_][\w:<>, ]*")
CUDA_ENDINGS = (".cu", ".cuh")
HOST_OPTIONS = ("-Xcompiler", "--compiler-options")
QUOTED_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"]|['"])+""")  # quotes may hold blanks
HEADERS = (".cuh", ".h", ".hpp", ".hh", ".inl", ".inc", ".cuinc", ".in")


class BadCall(Exception):
    """What is wrong with the call, in one sentence."""


@dataclass
class Call:
    name: str
    inline: bool
    cpp: list[str] = field(default_factory=list)  # sources as given, in order
    cuda: list[str] = field(default_factory=list)
    files: list[list[str]] = field(default_factory=list)  # of load(): [path inside the build, text]; headers too
    sources: list[str] = field(default_factory=list)  # of load(): which of the files are compiled
    functions: list[list[str]] | None = None  # [name, docstring]
    cflags: list[str] = field(default_factory=list)
    cuda_cflags: list[str] = field(default_factory=list)
    ldflags: list[str] = field(default_factory=list)
    include_paths: list[str] = field(default_factory=list)
    with_cuda: bool = False
    is_python_module: bool = True
    error_handling: bool = True
    implicit_headers: bool = True
    # Where it stands in the submission: no part of its key.
    place: str = ""  # "add.py:17"
    lines: dict[str, int] = field(default_factory=dict)  # the line of add.py that a source begins at, by its label

    def key(self) -> str:
        parts = {**asdict(self), "place": "", "lines": {}}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()

    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def source_label(what: str, i: int, n: int) -> str:
    """What a source is called in messages: "cuda_sources", or "cuda_sources[1]" of several."""
    return what if n == 1 else f"{what}[{i}]"


def as_list(value: Any, what: str) -> list[str]:
    """A string or several, as torch takes them."""
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike)):
        return [os.fspath(value)]
    found = [os.fspath(part) if isinstance(part, os.PathLike) else part for part in value]
    if not all(isinstance(part, str) for part in found):
        raise BadCall(f"{what} is no string and no list of strings")
    return found


def sources(value: Any, what: str) -> list[str]:
    found = as_list(value, what)
    if len(found) > SOURCES_MAX:
        raise BadCall(f"{what} are {len(found)} texts, more than the {SOURCES_MAX} that are built; join them")
    return found


def flags(value: Any, what: str) -> list[str]:
    """As words: torch joins flags with blanks, so that one text may hold several. None of them has a blank, so that nobody who reads them later finds
    other words than these."""
    found: list[str] = []
    for word in (word for text in as_list(value, what) for word in QUOTED_WORD.findall(text)):
        if word.split() == [word]:
            found.append(word)
            continue
        # "-Xcompiler '-fPIC -O3'": nvcc has commas for that.
        is_for_host = word.startswith(HOST_OPTIONS) or (found and found[-1] in HOST_OPTIONS)
        parts = word.replace("'", "").replace('"', "").split()
        found += [",".join(parts)] if is_for_host else parts
    if bad := next((word for word in found if not (word.isascii() and word.isprintable())), None):
        raise BadCall(f"{what}: {bad[:80]!r} has characters that are not printable ASCII")
    if len(found) > FLAGS_MAX or any(len(flag) > FLAG_BYTES_MAX for flag in found):
        raise BadCall(f"{what} is more than {FLAGS_MAX} flags of {FLAG_BYTES_MAX} characters")
    return found


def functions_of(value: Any) -> list[list[str]] | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = [value]
    if len(value) > FUNCTIONS_MAX:
        raise BadCall(f"functions are {len(value)}, more than the {FUNCTIONS_MAX} that a module has here")
    return (
        [[str(name), str(text)] for name, text in value.items()]
        if isinstance(value, dict)
        else [[str(name), str(name)] for name in value]
    )


def check_names(call: Call) -> None:
    """Names that become words of commands and of sources. The compile child asks again: who wrote the call down has run the job's code."""
    if not call.name.isidentifier() or len(call.name) > NAME_BYTES_MAX:
        raise BadCall(
            f"the extension's name must be an identifier of at most {NAME_BYTES_MAX} characters, got {call.name[:40]!r}"
        )
    for name, _ in call.functions or []:
        if FUNCTION.fullmatch(name) is None:
            raise BadCall(f"functions: {name[:40]!r} is not the name of a function")


def finish_call(call: Call, arguments: dict[str, Any]) -> Call:
    check_names(call)
    if arguments.get("sycl_sources") or arguments.get("with_sycl"):
        raise BadCall("SYCL sources are not built here")
    if arguments.get("is_standalone"):
        raise BadCall("is_standalone=True makes a program, which a submission cannot run; leave it out")
    call.cflags = flags(arguments.get("extra_cflags"), "extra_cflags")
    call.cuda_cflags = flags(arguments.get("extra_cuda_cflags"), "extra_cuda_cflags")
    call.ldflags = flags(arguments.get("extra_ldflags"), "extra_ldflags")
    call.is_python_module = bool(arguments.get("is_python_module", True))
    with_cuda = arguments.get("with_cuda")
    has_cuda = bool(call.cuda) or any(source.endswith(CUDA_ENDINGS) for source in call.sources)
    call.with_cuda = has_cuda if with_cuda is None else bool(with_cuda) or has_cuda
    size = sum(len(text) for text in call.cpp + call.cuda) + sum(len(text) for _, text in call.files)
    if size > SOURCE_BYTES_MAX:
        raise BadCall(f"its sources have {size} characters, more than the {SOURCE_BYTES_MAX} that are built")
    return call


def inline_call(arguments: dict[str, Any]) -> Call:
    call = Call(name=str(arguments["name"]), inline=True, cpp=sources(arguments["cpp_sources"], "cpp_sources"))
    call.cuda = sources(arguments.get("cuda_sources"), "cuda_sources")
    call.functions = functions_of(arguments.get("functions"))
    take_headers(call, {}, arguments)
    call.error_handling = bool(arguments.get("with_pytorch_error_handling", True))
    call.implicit_headers = not arguments.get("no_implicit_headers", False)
    return finish_call(call, arguments)


def load_call(arguments: dict[str, Any]) -> Call:
    """Sources by name, with whatever headers lie beside them or in the include paths of the submission's own."""
    call = Call(name=str(arguments["name"]), inline=False)
    roots: dict[Path, str] = {}
    for source in sources(arguments["sources"], "sources"):
        path = Path(os.path.abspath(source))
        call.sources.append(add_file(call, path, roots))
    take_headers(call, roots, arguments)
    return finish_call(call, arguments)


def take_headers(call: Call, roots: dict[Path, str], arguments: dict[str, Any]) -> None:
    """Those of the submission's own: beside its sources, and in its include paths."""
    paths = [os.path.abspath(path) for path in sources(arguments.get("extra_include_paths"), "extra_include_paths")]
    for folder in [*list(roots), *(Path(path) for path in paths if is_submission_folder(path))]:
        for path in sorted(folder.rglob("*")):
            if path.name.endswith(HEADERS) and path.is_file() and len(call.files) < FILES_MAX:
                add_file(call, path, roots, folder)
    call.include_paths = [roots.get(Path(path), path) for path in paths]


def is_submission_folder(path: str) -> bool:
    """Whether a folder is the submission's, not the machine's."""
    return any(path.startswith(root) for root in ("/kq/", "/tmp/", os.getcwd() + "/")) and os.path.isdir(path)


def add_file(call: Call, path: Path, roots: dict[Path, str], folder: Path | None = None) -> str:
    folder = folder or path.parent
    place = roots.setdefault(folder, f"part{len(roots)}")
    name = f"{place}/{path.relative_to(folder)}"
    if not any(known == name for known, _ in call.files):
        try:
            call.files.append([name, path.read_text(errors="surrogateescape")])
        except OSError as error:
            raise BadCall(f"cannot read {path.name}: {error.strerror}") from error
    return name


def caller_location(source: Path) -> str:
    """Where the innermost frame below `source` stands: "add.py:17"."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith(f"{source}/"):
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def replace_loaders(handle_call: Callable[[Call], Any], source: Path) -> None:
    """From here on load_inline and load of torch hand their calls to `take`, whichever name they are imported by."""
    from torch.utils import cpp_extension

    for name, make in (("load_inline", inline_call), ("load", load_call)):
        signature = inspect.signature(getattr(cpp_extension, name))
        setattr(cpp_extension, name, replacement(name, signature, make, handle_call, source))


def replacement(
    name: str,
    signature: inspect.Signature,
    make: Callable[[dict[str, Any]], Call],
    handle_call: Callable[[Call], Any],
    source: Path,
) -> Callable[..., Any]:
    def loader(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        place = caller_location(source)
        try:
            call = make(bound.arguments)
        except BadCall as error:
            raise BadCall(f"{place}: {name}: {error}") from error
        call.place = place
        call.lines = source_lines(source / place.partition(":")[0], call)
        return handle_call(call)

    loader.__name__ = loader.__qualname__ = name
    loader.__module__ = "torch.utils.cpp_extension"
    return loader


def source_lines(path: Path, call: Call) -> dict[str, int]:
    """Where the sources stand in the file, of those that stand there word for word."""
    try:
        text = path.read_text(errors="replace") if path.is_file() else ""
    except OSError:
        return {}
    found = {}
    for what, sources in (("cpp_sources", call.cpp), ("cuda_sources", call.cuda)):
        for i, source in enumerate(sources):
            at = text.find(source) if source.strip() else -1
            if at >= 0:
                found[source_label(what, i, len(sources))] = text.count("\n", 0, at) + 1
    return found
