"""Prefixes: torch's headers, made ready once for all builds.

Nearly every extension begins with torch/extension.h, or with torch/types.h, which load_inline puts before a .cu. A
prefix is such a header, preprocessed, without the bodies of inline functions (header_bodies.py), and precompiled for
g++. A source that is compiled with it includes the prefix first, and finds empty files in place of the headers that the
prefix contains. The bodies are compiled once into an archive, and a module is linked with those that it uses.

The compile child makes a prefix on an order such as "extension-O1" and leaves in out/:

    header.h        the text of the prefix
    header.h.gch    the same, precompiled for g++ -O1
    header.files    the names of the headers in it, one a line
    header.words    every word of these headers, one a line
    header.names    the same, and every word that preprocessing for g++ or nvcc makes of them
    header.macros   the macros that g++ defines by itself, one a line
    libbodies.a     the bodies

A source may use a prefix if it would have included the header anyway, before anything that could change what the header
says: no macro that the source or a flag defines before it occurs in the header.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.children.job import Job
from harness.extensions.compiler_error import words_of
from harness.extensions.header_bodies import Unreadable, without_bodies
from harness.extensions.memory_room import ARCHIVE_MIB, HOST_MIB, MemoryRoom, memory_of_build_mib
from harness.extensions.toolchain import DEFINES, HALF_DEFINES, STANDARD, Toolchain, run

# By name: the header that a prefix is made of.
HEADERS = {"extension": "torch/extension.h", "types": "torch/types.h"}
ARCHIVE = "libbodies.a"
HOST_FLAGS = (*DEFINES, "-fPIC", "-w", "-fmax-errors=20")
# Words that a source may have before the header without changing it.
INCLUDE = re.compile(r"#\s*include\s*[<\"]([^>\"]+)[>\"]\s*")
DEFINE = re.compile(r"#\s*define\s+(\w+)")
COMMENT = re.compile(r"//(?:\\\n|[^\n])*|/\*.*?\*/", re.S)


class NotMade(Exception):
    """A prefix cannot be made here; the text says why."""


@dataclass(frozen=True)
class Prefix:
    """A prefix that was made, in its folder."""

    name: str
    folder: Path

    @property
    def archive(self) -> Path:
        return self.folder / ARCHIVE

    def names(self) -> bytes:
        return (self.folder / "header.names").read_bytes()

    def flags(self, work: Path) -> list[str]:
        """Returns the flags that compile a source with the prefix. Makes the empty headers below `work`."""
        empty = work / f"prefix-{self.name}"
        if not empty.exists():
            make_empty_files(empty, (self.folder / "header.files").read_text().splitlines())
        return [f"-I{empty}", "-include", str(self.folder / "header.h")]

    def is_unchanged_by(self, macros: set[str], ours: set[str]) -> bool:
        """Returns whether macros, as lines of `g++ -dM`, leave the headers as they are. `ours` are names that every
        build defines.
        """
        base = set((self.folder / "header.macros").read_text().splitlines())
        changed = {line.split()[1].partition("(")[0] for line in macros ^ base} - ours
        words = (self.folder / "header.words").read_bytes()
        return not any(b"\n" + name.encode() + b"\n" in words for name in changed)


def usual_prefixes(device: str, tools: Toolchain) -> list[str]:
    """Returns the prefixes that nearly every call on this machine is compiled with: none without g++, and the one of a
    .cu only with nvcc for a GPU.
    """
    names = [name for name in HEADERS if name != "types" or (device == "cuda" and tools.nvcc)]
    return [f"{name}-O1" for name in names] if tools.cxx else []


def find_prefix(job: Job, name: str, level: str) -> Prefix | None:
    """Returns the prefix if it has been made."""
    folder = job.shared / f"{name}-{level}" if job.shared is not None else None
    return Prefix(name, folder) if folder is not None and (folder / "header.h").exists() else None


def leading_headers(text: str) -> tuple[list[str], list[str]]:
    """Returns the headers that a source includes before anything else, and the macros that it defines before them."""
    headers, macros = [], []
    for line in COMMENT.sub(lambda found: "\n" * found.group().count("\n"), text).splitlines():
        line = line.strip()
        if (found := INCLUDE.fullmatch(line)) is not None:
            headers.append(found.group(1))
        elif (found := DEFINE.match(line)) is not None and not line.endswith("\\"):
            macros.append(found.group(1))
        elif line and not line.startswith(("#line", "#pragma once")):
            break
    return headers, macros


def make_empty_files(folder: Path, names: list[str]) -> None:
    for parent in {str(Path(name).parent) for name in names}:
        (folder / parent).mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()


# --- making a prefix


def make_prefix(job: Job, tools: Toolchain, variant: str) -> None:
    """Makes the prefix of a variant such as "extension-O1"."""
    name, _, level = variant.partition("-")
    if name not in HEADERS or level not in ("O1", "O2"):
        raise NotMade(f"there is no prefix {variant!r}; the prefixes are {', '.join(HEADERS)} with -O1 or -O2")
    source = job.work / "prefix.cpp"
    source.write_text(f"#include <{HEADERS[name]}>\n")
    flags = [*HOST_FLAGS, *tools.includes(False), STANDARD]
    room = MemoryRoom(memory_of_build_mib())
    with ThreadPoolExecutor(max_workers=3) as pool:
        # The archive takes longest and is begun first.
        archive = pool.submit(make_archive, job, tools, room, [*flags, f"-{level}"], source)
        names = pool.submit(make_names, job, tools, [*flags, f"-{level}"], source)
        make_header(job, tools, room, [*flags, f"-{level}"], source)
        names.result()
        archive.result()


def make_header(job: Job, tools: Toolchain, room: MemoryRoom, flags: list[str], source: Path) -> None:
    text, header = job.work / "prefix.ii", job.out / "header.h"
    compile_step([tools.cxx, *flags, "-E", "-dD", "-x", "c++", str(source), "-o", str(text)], job.work)
    # The compiler defines these macros itself and refuses a second definition.
    own = re.compile(r"^#(?:define|undef) __STDC_.*$", re.M)
    try:
        header.write_text(
            without_bodies(own.sub("", text.read_text(errors="surrogateescape"))), errors="surrogateescape"
        )
    except (Unreadable, IndexError, RecursionError) as error:
        raise NotMade(f"the headers of torch cannot be read as declarations: {error}") from error
    with room.take(HOST_MIB):
        compile_step([tools.cxx, *flags, "-x", "c++-header", str(header), "-o", f"{header}.gch"], job.work)


def make_archive(job: Job, tools: Toolchain, room: MemoryRoom, flags: list[str], source: Path) -> None:
    made = job.work / "bodies.o"
    words = ["-fkeep-inline-functions", "-ffunction-sections", "-fdata-sections", "-x", "c++", "-c", str(source)]
    with room.take(ARCHIVE_MIB):
        compile_step([tools.cxx, *flags, *words, "-o", str(made)], job.work)
    compile_step(["ar", "rcs", str(job.out / ARCHIVE), str(made)], job.work)


def make_names(job: Job, tools: Toolchain, flags: list[str], source: Path) -> None:
    """Writes the names of the headers, their words, and the macros of g++."""
    list_file = job.work / "prefix.d"
    compile_step([tools.cxx, *flags, "-M", "-MF", str(list_file), "-x", "c++", str(source)], job.work)
    words = list_file.read_text().replace("\\\n", " ").split()
    paths = sorted({Path(word) for word in words if word.startswith("/")})
    roots = [tools.torch_root / "include/torch/csrc/api/include", tools.torch_root / "include"]
    below = [str(path.relative_to(root)) for path in paths for root in roots if root in path.parents]
    (job.out / "header.files").write_text("".join(f"{name}\n" for name in sorted(set(below))))
    texts = [words_of(b"\n".join(path.read_bytes() for path in paths))]
    (job.out / "header.words").write_bytes(texts[0])
    if tools.nvcc:
        cuda = job.work / "names.cu"
        cuda.write_text(source.read_text())
        preprocessed = cuda.with_suffix(".ii")
        command = [tools.nvcc, *DEFINES, *HALF_DEFINES, *tools.includes(True), STANDARD, "-Xcompiler", "-dD", "-E"]
        if run([*command, str(cuda), "-o", str(preprocessed)], job.work).code == 0:
            texts.append(preprocessed.read_bytes())
    (job.out / "header.names").write_bytes(words_of(b"\n".join(texts)))
    (job.out / "header.macros").write_text("".join(f"{line}\n" for line in sorted(macros_of(tools, flags, job.work))))


def macros_of(tools: Toolchain, flags: list[str], work: Path) -> set[str]:
    """Returns the macros that g++ defines with the flags, one line each."""
    found = run([tools.cxx, *flags, "-dM", "-E", "-x", "c++", "/dev/null"], work)
    return set(found.text.splitlines()) if found.code == 0 else {"#define kq_unknown"}


def compile_step(command: list[str], work: Path) -> None:
    result = run(command, work)
    if result.code != 0:
        raise NotMade(f"the headers of torch cannot be precompiled here: {result.text.strip()[:300]}")
