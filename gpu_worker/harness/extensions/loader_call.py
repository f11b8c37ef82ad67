"""One call of torch.utils.cpp_extension.load_inline or load as data: what it asks to compile, and its key.

The tracing child makes calls, the compile child builds them, and the submission child finds the module by the key. The
key is a hash of everything that shapes the module; the place of the call is not part of it.
"""

import hashlib
import inspect
import json
import os
import posixpath
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

CALLS_MAX = 16
SOURCE_BYTES_MAX = 4 << 20  # of one call
SOURCES_MAX = 64  # of each kind; gpu_worker/compile/extension.h has the same limits
FILES_MAX = 64
FUNCTIONS_MAX = 256
FLAGS_MAX = 256  # words
FLAG_BYTES_MAX = 1024
NAME_BYTES_MAX = 128
FUNCTION = re.compile(r"[A-Za-z_][\w:<>, ]*")
CUDA_ENDINGS = (".cu", ".cuh")
HOST_OPTIONS = ("-Xcompiler", "--compiler-options")
QUOTED_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"]|['"])+""")  # quotes may contain blanks
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.M)
ARCH_LIST = "TORCH_CUDA_ARCH_LIST"
HEADERS = (".cuh", ".h", ".hpp", ".hh", ".inl", ".inc", ".cuinc", ".in")


class BadCall(Exception):
    """The call is one that kq does not build; the text is one sentence. Torch might have built it."""


class BadName(BadCall):
    """The extension has a name with which no compiler makes a module; the text is what the compiler would say."""


@dataclass
class Call:
    name: str
    inline: bool
    cpp: list[str] = field(default_factory=list)  # the sources in their order
    cuda: list[str] = field(default_factory=list)
    files: list[list[str]] = field(default_factory=list)  # of load(): [path inside the build, text], headers included
    sources: list[str] = field(default_factory=list)  # of load(): the files that are compiled
    functions: list[list[str]] | None = None  # [name, docstring]
    cflags: list[str] = field(default_factory=list)
    cuda_cflags: list[str] = field(default_factory=list)
    ldflags: list[str] = field(default_factory=list)
    include_paths: list[str] = field(default_factory=list)
    with_cuda: bool = False
    is_python_module: bool = True
    error_handling: bool = True
    implicit_headers: bool = True
    # The place in the submission, which is no part of the key.
    place: str = ""  # "add.py:17"
    lines: dict[str, int] = field(default_factory=dict)  # label of a source -> the line of add.py at which it begins

    def key(self) -> str:
        parts = {**asdict(self), "place": "", "lines": {}}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()

    def similar_key(self) -> str:
        """Returns the hash of everything that shapes the module but its name."""
        parts = {**asdict(self), "name": "", "place": "", "lines": {}}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()

    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def source_label(what: str, i: int, n: int) -> str:
    """Returns the name of a source in messages: "cuda_sources", or "cuda_sources[1]" if there are several."""
    return what if n == 1 else f"{what}[{i}]"


def as_list(value: Any) -> list[str]:
    """Returns a string or several strings as a list, as torch accepts them."""
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike)):
        return [os.fspath(value)]
    found = [os.fspath(part) if isinstance(part, os.PathLike) else part for part in value]
    "".join(found)  # raises TypeError for parts that are no strings, as torch does when it joins them
    return found


def sources(value: Any, what: str) -> list[str]:
    found = as_list(value)
    if len(found) > SOURCES_MAX:
        raise BadCall(f"{what} are {len(found)} texts, more than the {SOURCES_MAX} that are built; join them")
    return found


def flags(value: Any, what: str) -> list[str]:
    """Returns flags as words. torch joins flags with blanks, so one text may hold several. No word contains a blank, so
    that every later reader sees the same words.
    """
    found: list[str] = []
    for word in (word for text in as_list(value) for word in QUOTED_WORD.findall(text)):
        if word.split() == [word]:
            found.append(word)
            continue
        # "-Xcompiler '-fPIC -O3'" becomes words joined by commas, as nvcc has them.
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
    if not isinstance(value, (list, dict)):
        raise ValueError(f"Expected 'functions' to be a list or dict, but was {type(value)}")
    if len(value) > FUNCTIONS_MAX:
        raise BadCall(f"functions are {len(value)}, more than the {FUNCTIONS_MAX} that a module has here")
    return (
        [[str(name), str(text)] for name, text in value.items()]
        if isinstance(value, dict)
        else [[str(name), str(name)] for name in value]
    )


def check_names(call: Call) -> None:
    """Checks the names that become words of commands and sources. The compile child does it, because the call comes
    from a process that ran code of the job.
    """
    if len(call.name) > NAME_BYTES_MAX:
        raise BadCall(f"the extension's name is longer than {NAME_BYTES_MAX} characters: {call.name[:40]!r}")
    if not (call.name.isascii() and call.name.isidentifier()):
        is_word = re.fullmatch(r"[\w.-]+", call.name, re.ASCII) is not None
        uses_name = call.functions is not None or any(
            "TORCH_EXTENSION_NAME" in text for text in [*call.cpp, *call.cuda, *(text for _, text in call.files)]
        )
        if not uses_name and is_word and not call.is_python_module:
            return  # the name is that of a file alone
        if not uses_name:
            raise BadCall(f"the extension's name must be an identifier, got {call.name[:40]!r}")
        raise BadName(
            f"the extension's name {call.name[:40]!r} is no identifier\n<command-line>: error: "
            f"‘PyInit_{call.name[:40]}’ is no name of a function: in expansion of macro ‘TORCH_EXTENSION_NAME’"
        )
    for name, _ in call.functions or []:
        if FUNCTION.fullmatch(name) is None:
            raise BadCall(f"functions: {name[:40]!r} is not the name of a function")


def finish_call(call: Call, arguments: dict[str, Any]) -> Call:
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
    if call.with_cuda:
        call.cuda_cflags += flags_of_arch_list(call.cuda_cflags)
    size = sum(len(text) for text in call.cpp + call.cuda) + sum(len(text) for _, text in call.files)
    if size > SOURCE_BYTES_MAX:
        raise BadCall(f"its sources have {size} characters, more than the {SOURCE_BYTES_MAX} that are built")
    return call


def flags_of_arch_list(cuda_cflags: list[str]) -> list[str]:
    """Returns the flags that torch adds for the architectures that the submission sets in TORCH_CUDA_ARCH_LIST. Raises
    what torch raises for an architecture that torch does not know.
    """
    if os.environ.get(ARCH_LIST, "") in ("", "native"):
        return []
    from torch.utils import cpp_extension

    return list(cpp_extension._get_cuda_arch_flags(cuda_cflags))


def check_texts(value: Any, needs_list: bool) -> None:
    """Raises what torch raises for sources of load_inline that are no text and no list of texts. A list is needed where
    torch inserts the lines that include its headers.
    """
    if not isinstance(value, str):
        if needs_list:
            value.insert  # noqa: B018
        "\n".join(value)


def check_name(arguments: dict[str, Any]) -> None:
    """Raises what torch raises for a name of which it makes no path."""
    if not arguments.get("build_directory"):
        os.path.join("", arguments["name"])


def inline_call(arguments: dict[str, Any]) -> Call:
    check_name(arguments)
    has_headers = not arguments.get("no_implicit_headers", False)
    check_texts(arguments["cpp_sources"], has_headers)
    check_texts(arguments.get("cuda_sources") or "", has_headers)
    call = Call(name=str(arguments["name"]), inline=True, cpp=sources(arguments["cpp_sources"], "cpp_sources"))
    call.cuda = sources(arguments.get("cuda_sources"), "cuda_sources")
    call.functions = functions_of(arguments.get("functions"))
    for text in call.cpp + call.cuda:
        text.encode()  # raises UnicodeEncodeError for undecoded bytes, as torch does when it writes the source
    take_headers(call, {}, arguments)
    call.error_handling = bool(arguments.get("with_pytorch_error_handling", True))
    call.implicit_headers = has_headers
    return finish_call(call, arguments)


def load_call(arguments: dict[str, Any]) -> Call:
    """Returns the call of load(), with the headers that lie beside its sources or in the submission's own include
    paths.
    """
    check_name(arguments)
    iter(arguments["sources"])  # raises TypeError for None, as torch does
    call = Call(name=str(arguments["name"]), inline=False)
    roots: dict[Path, str] = {}
    for source in sources(arguments["sources"], "sources"):
        path = Path(os.path.abspath(source))
        call.sources.append(add_file(call, path, roots))
    take_headers(call, roots, arguments)
    return finish_call(call, arguments)


def take_headers(call: Call, roots: dict[Path, str], arguments: dict[str, Any]) -> None:
    """Adds the submission's own files that its sources include, and then the headers beside its sources and in its
    include paths, which a macro may include, as far as there is room.
    """
    paths = [os.path.abspath(path) for path in sources(arguments.get("extra_include_paths"), "extra_include_paths")]
    own_paths = [Path(path) for path in paths if is_submission_folder(path)]
    take_included(call, roots, own_paths)
    for folder in dict.fromkeys([*roots, *own_paths]):
        for path in sorted(folder.rglob("*")):
            if path.name.endswith(HEADERS) and path.is_file() and len(call.files) < FILES_MAX:
                add_file(call, path, roots, folder)
    call.include_paths = [roots.get(Path(path), path) for path in paths]


def take_included(call: Call, roots: dict[Path, str], include_paths: list[Path]) -> None:
    """Adds the files that the call's sources include, and those that these include, from the folders of the files that
    include them and from `include_paths`. What lies beyond the folder above the sources has no place in the build: the
    compiler reports it where the source needs it.
    """
    # What may still have includes: the name in the build and the path of a file, both empty for a source of
    # load_inline, and its text.
    rest: list[tuple[str, Path | None, str]] = [("", None, text) for text in [*call.cpp, *call.cuda]]
    folders = {place: folder for folder, place in roots.items()}
    for name, text in call.files:
        place, _, inside = name.partition("/")
        rest.append((name, folders[place] / inside, text))
    while rest:
        name, path, text = rest.pop()
        for included in INCLUDE.findall(text):
            found = [(posixpath.dirname(name), path.parent)] if path is not None else []
            found += [(roots.setdefault(folder, f"part{len(roots)}"), folder) for folder in include_paths]
            for place, folder in found:
                other = Path(os.path.normpath(folder / included))
                other_name = posixpath.normpath(posixpath.join(place, included))
                if is_of_submission(other) and other.is_file() and not other_name.startswith(("../", "/")):
                    if put_file(call, other_name, other):
                        rest.append((other_name, other, call.files[-1][1]))
                    break


def put_file(call: Call, name: str, path: Path) -> bool:
    """Adds a file under a name in the build, and returns whether it is new."""
    text = text_of(path)  # raises for a missing file, as torch does
    known = next((known for known in call.files if known[0] == name), None)
    if known is None and len(call.files) == FILES_MAX:
        raise BadCall(f"it has more than {FILES_MAX} files of its own; join some")
    if known is None:
        call.files.append([name, text])
    elif known[1] != text:
        raise BadCall(f"two of its files would be {name} in the build; rename one of the files {path.name}")
    return known is None


def is_of_submission(path: Path) -> bool:
    """Returns whether a file belongs to the submission, not to the machine."""
    return any(str(path).startswith(root) for root in ("/kq/", "/tmp/", os.getcwd() + "/"))


def is_submission_folder(path: str) -> bool:
    return is_of_submission(Path(path)) and os.path.isdir(path)


def add_file(call: Call, path: Path, roots: dict[Path, str], folder: Path | None = None) -> str:
    folder = folder or path.parent
    place = roots.setdefault(folder, f"part{len(roots)}")
    name = f"{place}/{path.relative_to(folder)}"
    put_file(call, name, path)
    return name


def text_of(path: Path) -> str:
    """Returns the text of a file. One that is not UTF-8 is read as Latin-1, because a record of calls is valid UTF-8;
    compilers then get it as UTF-8.
    """
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        return path.read_text("latin-1")


def caller_location(source: Path) -> str:
    """Returns "add.py:17" for the innermost frame whose file lies below `source`; empty if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith(f"{source}/"):
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def replace_loaders(
    handle_call: Callable[[Call], Any],
    source: Path,
    refused: Callable[[str], BaseException],
    note_raised: Callable[[str, str, str, BaseException], None] = lambda *_: None,
) -> None:
    """Makes torch's load_inline and load hand their calls to `handle_call`, by whichever name they are imported. A call
    that kq does not build raises what `refused` returns for the sentence that says why. A call whose arguments torch
    does not take raises torch's error, which `note_raised` gets after the extension's name, the place and a sentence.
    """
    from torch.utils import cpp_extension

    for name, make in (("load_inline", inline_call), ("load", load_call)):
        signature = inspect.signature(getattr(cpp_extension, name))
        setattr(cpp_extension, name, replacement(name, signature, make, handle_call, source, refused, note_raised))


def replacement(
    name: str,
    signature: inspect.Signature,
    make: Callable[[dict[str, Any]], Call],
    handle_call: Callable[[Call], Any],
    source: Path,
    refused: Callable[[str], BaseException],
    note_raised: Callable[[str, str, str, BaseException], None],
) -> Callable[..., Any]:
    def loader(*args: Any, **kwargs: Any) -> Any:
        place = caller_location(source)
        try:
            call = make(bound_arguments(name, signature, args, kwargs))
        except BadCall as error:
            raise refused(f"{place}: {name}: {error}") from error
        except Exception as error:
            extension = kwargs.get("name", args[0] if args else "")
            note_raised(str(extension), place, f"{name}: {type(error).__name__}: {error}", error)
            raise
        call.place = place
        call.lines = source_lines(source / place.partition(":")[0], call)
        return handle_call(call)

    loader.__name__ = loader.__qualname__ = name
    loader.__module__ = "torch.utils.cpp_extension"
    return loader


def bound_arguments(
    name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Returns the arguments of a call by their names. Raises TypeError for arguments that do not fit."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}() {error}") from None
    bound.apply_defaults()
    return bound.arguments


def source_lines(path: Path, call: Call) -> dict[str, int]:
    """Returns the line at which each source begins in the file, for sources that stand there literally."""
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
