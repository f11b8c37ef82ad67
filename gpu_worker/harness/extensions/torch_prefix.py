"""Prefixes: torch's headers, made ready once for all builds.

Nearly every extension begins with torch/extension.h, or with torch/types.h, which load_inline puts before a .cu; others
begin with another header that includes most of torch. A prefix is such a header, preprocessed, without the bodies of
inline functions (header_bodies.py), and precompiled for g++. A source that is compiled with it includes the prefix
first, and finds empty files in place of the headers that the prefix contains. The bodies of all prefixes are compiled
once into an archive, and a module is linked with those that it uses. A prefix is of use before the archive is there: it
tells the errors of a source.

The compile child makes a prefix on an order such as "extension-O1" and leaves in out/:

    header.h        the text of the prefix
    header.h.gch    the same, precompiled for g++ -O1
    header.files    the names of the headers in it, one a line
    header.words    every word of these headers, one a line
    header.names    the same, and every word that preprocessing for g++ or nvcc makes of them
    header.macros   the macros that g++ defines by itself, one a line
    header.hash     the hash of what preprocessing makes of the header

On the order "bodies-O1" it makes libbodies.a, the bodies, and on "nvcc-O1" the notes of nvcc_headers.py. Flags that
change the headers or what g++ precompiles, such as -fopenmp, have prefixes and bodies of their own, such as
"extension-O1-openmp".

A source may use a prefix if it would have included the header anyway, itself or by a header of its own, before anything
that could change what the header says: either no macro that the source or a flag defines before it occurs in the
header, or preprocessing the header with these macros and flags gives the same text.
"""

import functools
import hashlib
import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness.children.job import Job
from harness.extensions.compiler_error import words_of
from harness.extensions.cuda import nvcc_headers
from harness.extensions.header_bodies import BodyStripper, Unreadable
from harness.extensions.memory_room import ARCHIVE_PART_MIB, MemoryRoom, memory_of_build_mib
from harness.extensions.nvcc_steps import PREPROCESSED
from harness.extensions.toolchain import DEFINES, HALF_DEFINES, STANDARD, Toolchain, run

# By name: the header that a prefix is made of. The first one that a source begins with is taken. A source never gets a
# header that includes more than its own headers do, because then the source could compile where torch refuses it.
# gpu_worker/compile/extension.cc has the same names.
HEADERS = {
    "extension": "torch/extension.h",
    "all": "torch/all.h",
    "python": "torch/python.h",
    "script": "torch/script.h",
    "types": "torch/types.h",
    "aten": "ATen/ATen.h",
}
USUAL = ("extension", "types")
# By the word for it in a variant's name, in the order of the words: a flag with prefixes of its own.
# gpu_worker/compile/extension.cc has the same.
OWN_PREFIX = {"fast": "-ffast-math", "native": "-march=native", "ndebug": "-DNDEBUG", "openmp": "-fopenmp"}
BODIES = "bodies"  # the name under which the archive is made and kept
BODIES_HEADERS = ("torch/extension.h", "torch/script.h")  # the headers of all prefixes
NOTES = "nvcc"  # the name under which the notes of nvcc_headers.py are made and kept
SAME = {"torch/torch.h": "torch/extension.h"}  # with the macro that torch defines for every extension
ARCHIVE = "libbodies.a"
# Each part of the archive takes 16 s of a processor for all headers, and its share of 120 s for the bodies. Where
# PARTS_AT_ONCE_MIN parts or more can be compiled at once, the archive has as many parts as can be.
ARCHIVE_PARTS = 2
ARCHIVE_PARTS_MAX = 10
PARTS_AT_ONCE_MIN = 8
HOST_FLAGS = (*DEFINES, "-fPIC", "-w", "-fmax-errors=20")
# Lines that a source may have before the header without changing it.
INCLUDE = re.compile(r"#\s*include\s*(?P<mark>[<\"])(?P<name>[^>\"]+)[>\"]")
DEFINE = re.compile(r"#\s*define\s+(\w+)")
HARMLESS = re.compile(r"#\s*(line\b|\d+ \"|pragma\s+(once|GCC\s+diagnostic|nv_diag\w+|warning)\b).*|;|")
GUARD = re.compile(r"#\s*(?:ifndef\s+(\w+)|if\s+!\s*defined\s*\(?\s*(\w+)\s*\)?)")
OWN_HEADER_DEPTH_MAX = 16  # of headers of the source that include each other
# The parts of a preprocessed text that are not headers: macros of the compiler and of its command line.
LINE_MARKER = re.compile(r'^# \d+ "([^"]*)".*$')
OWN_MACRO = re.compile(r"^#(?:define|undef) __STDC_.*$", re.M)
COMMENT = re.compile(r"//(?:\\\n|[^\n])*|/\*.*?\*/", re.S)


class NotMade(Exception):
    """A prefix cannot be made here; the text says why."""


@dataclass(frozen=True)
class Prefix:
    """A prefix that was made, in its folder."""

    name: str
    folder: Path
    archive: Path | None = None  # of the bodies that it lacks, once that has been made

    def names(self) -> bytes:
        return (self.folder / "header.names").read_bytes()

    def flags(self, work: Path) -> list[str]:
        """Returns the flags that compile a source with the prefix. Makes the empty headers below `work`."""
        empty = work / f"prefix-{self.name}"
        if not empty.exists():
            make_empty_files(empty, self.files())
        return [f"-I{empty}", "-include", str(self.folder / "header.h")]

    def files(self) -> list[str]:
        """Returns the names of the headers in the prefix."""
        return (self.folder / "header.files").read_text().splitlines()

    def has_word(self, word: str) -> bool:
        return b"\n" + word.encode() + b"\n" in self.words

    @functools.cached_property
    def words(self) -> bytes:
        return (self.folder / "header.words").read_bytes()

    def is_same_text(self, tools: Toolchain, flags: list[str], defines: list[str], work: Path) -> bool:
        """Returns whether preprocessing the header with the flags, after these lines of a source, gives the text that
        the prefix was made of.
        """
        recorded = self.folder / "header.hash"
        source = work / f"check-{os.urandom(6).hex()}.cpp"
        source.write_text("".join(f"{line}\n" for line in [*defines, f"#include <{HEADERS[self.name]}>"]))
        return recorded.exists() and hash_of_headers(tools, flags, source) == recorded.read_text()

    def is_unchanged_by(self, macros: set[str], ours: set[str]) -> bool:
        """Returns whether no macro that differs from those of the prefix occurs in its headers. `macros` are lines of
        `g++ -dM`, and `ours` are names that every build defines.
        """
        return not any(map(self.has_word, self.changed_macros(macros) - ours))

    def changed_macros(self, macros: set[str]) -> set[str]:
        base = set((self.folder / "header.macros").read_text().splitlines())
        return {name_of_macro(line) for line in macros ^ base}


def usual_prefixes(device: str, tools: Toolchain) -> list[str]:
    """Returns the prefixes that nearly every call on this machine is compiled with: none without g++, and the one of a
    .cu only with nvcc for a GPU.
    """
    names = [name for name in USUAL if name != "types" or (device == "cuda" and tools.nvcc)]
    names += [BODIES, *([NOTES] if "types" in names else [])]
    return [f"{name}-O1" for name in names] if tools.cxx else []


def find_prefix(job: Job, name: str, variant: str) -> Prefix | None:
    """Returns the prefix for a level and flags, such as "O1-fast", if it has been made."""
    if job.shared is None or not (job.shared / f"{name}-{variant}/header.h").exists():
        return None
    # The bodies are the same for all levels.
    archive = job.shared / "-".join([BODIES, "O1", *variant.split("-")[1:]]) / ARCHIVE
    return Prefix(name, job.shared / f"{name}-{variant}", archive if archive.exists() else None)


def find_prefixes(job: Job, variant: str) -> list[Prefix]:
    """Returns the prefixes that have been made for the flags of C++ units and for those of the host half of a .cu, in
    the order of HEADERS.
    """
    variants = dict.fromkeys([variant, variant.partition("-")[0]])
    found = [find_prefix(job, name, each) for name in HEADERS for each in variants]
    return [prefix for prefix in found if prefix is not None]


class LeadingHeaders:
    """The headers that a source includes before anything else, and the lines before them that define macros. Headers of
    the source itself, such as "ops.h", are followed.
    """

    def __init__(self, text: str, folder: str = "", paths: Sequence[str] = (), files: Mapping[str, str] = {}) -> None:
        self.paths = paths  # folders of the source's own headers
        self.files = files  # texts of these headers by path
        self.names: list[str] = []
        self.defines: list[str] = []
        self.seen: set[str] = set()
        self.read(text, folder, 0)

    def defined(self) -> set[str]:
        return {found.group(1) for line in self.defines if (found := DEFINE.match(line))}

    def read(self, text: str, folder: str, depth: int) -> bool:
        """Reads a file. Returns whether it has nothing but such lines, so that the file that includes it goes on."""
        spliced = text.replace("\\\n", "")
        plain = COMMENT.sub(lambda found: " " + "\n" * found.group().count("\n"), spliced)
        lines = [line for line in map(str.strip, plain.splitlines()) if not HARMLESS.fullmatch(line)]
        if depth > 0 and len(lines) >= 3 and self.is_guarded(lines):
            self.defines.append(lines[1])
            lines = lines[2:-1] if lines[-1].startswith("#endif") else lines[2:]
        return all(self.read_line(line, folder, depth) for line in lines)

    def is_guarded(self, lines: list[str]) -> bool:
        found, define = GUARD.fullmatch(lines[0]), DEFINE.match(lines[1])
        name = found and (found.group(1) or found.group(2))
        return define is not None and define.group(1) == name and name not in self.defined()

    def read_line(self, line: str, folder: str, depth: int) -> bool:
        if DEFINE.match(line) is not None:
            self.defines.append(line)
            return True
        found = INCLUDE.fullmatch(line)
        if found is None:
            return False
        path = self.own(found["name"], folder if found["mark"] == '"' else None)
        if path is None:
            self.names.append(SAME.get(found["name"], found["name"]))
            return True
        if path in self.seen:
            return True
        self.seen.add(path)
        return depth < OWN_HEADER_DEPTH_MAX and self.read(self.files[path], posixpath.dirname(path), depth + 1)

    def own(self, name: str, folder: str | None) -> str | None:
        """Returns the path of the source's own header that an include names."""
        folders = [*([folder] if folder is not None else []), *self.paths]
        paths = [posixpath.normpath(posixpath.join(place, name)) for place in folders]
        return next((path for path in paths if path in self.files), None)


def hash_of_headers(tools: Toolchain, flags: list[str], source: Path) -> str:
    """Returns the hash of what g++ makes of the headers that a source includes, or an empty text if it fails."""
    out = source.with_suffix(".ii")
    if run([tools.cxx, *flags, "-E", "-dD", "-x", "c++", str(source), "-o", str(out)], source.parent).code != 0:
        return ""
    return hash_of_text(out, source)


def hash_of_text(preprocessed: Path, source: Path) -> str:
    """Returns the hash of a preprocessed text without what stands in the source itself and on the command line."""
    digest, is_header = hashlib.sha256(), False
    ignored = {str(source), "<built-in>", "<command-line>"}
    with open(preprocessed, errors="surrogateescape") as lines:
        for line in lines:
            if (found := LINE_MARKER.match(line)) is not None:
                is_header = found.group(1) not in ignored
            elif is_header:
                digest.update(line.encode(errors="surrogateescape"))
    return digest.hexdigest()


def make_empty_files(folder: Path, names: list[str]) -> None:
    for parent in {str(Path(name).parent) for name in names}:
        (folder / parent).mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()


# --- making a prefix


def make_prefix(job: Job, tools: Toolchain, variant: str) -> None:
    """Makes the prefix of a variant such as "extension-O1", or what all prefixes share."""
    name, level, *words = [*variant.split("-"), ""]
    own = [OWN_PREFIX[word] for word in words if word in OWN_PREFIX]
    if name == NOTES and tools.nvcc:
        make_notes(job, tools)
    elif name == BODIES:
        make_archive(job, tools, own)
    elif name in HEADERS and level in ("O1", "O2"):
        source = job.work / "prefix.cpp"
        source.write_text(f"#include <{HEADERS[name]}>\n")
        flags = [*HOST_FLAGS, *tools.includes(False), STANDARD, *own, f"-{level}"]
        with ThreadPoolExecutor(max_workers=2) as pool:
            names = pool.submit(make_names, job, tools, flags, source)
            make_header(job, tools, flags, source)
            names.result()
    else:
        raise NotMade(f"there is no prefix {variant!r}; the prefixes are {', '.join(HEADERS)} with -O1 or -O2")


def read_headers(job: Job, tools: Toolchain, flags: list[str], source: Path) -> tuple[BodyStripper, str]:
    """Preprocesses the headers that a source includes, and finds the bodies that sources can do without. Returns the
    stripper that knows them and the hash of the text.
    """
    text = job.work / "prefix.ii"
    compile_step([tools.cxx, *flags, "-E", "-dD", "-x", "c++", str(source), "-o", str(text)], job.work)
    try:
        # The compiler defines the macros __STDC_* itself and refuses a second definition.
        stripper = BodyStripper(OWN_MACRO.sub("", text.read_text(errors="surrogateescape")))
        stripper.find_edits()
    except (Unreadable, IndexError, RecursionError) as error:
        raise NotMade(f"the headers of torch cannot be read as declarations: {error}") from error
    return stripper, hash_of_text(text, source)


def make_header(job: Job, tools: Toolchain, flags: list[str], source: Path) -> None:
    header = job.out / "header.h"
    stripper, text_hash = read_headers(job, tools, flags, source)
    (job.out / "header.hash").write_text(text_hash)
    header.write_text(stripper.stripped(), errors="surrogateescape")
    compile_step([tools.cxx, *flags, "-x", "c++-header", str(header), "-o", f"{header}.gch"], job.work)


def archive_parts(cores: int, memory_mib: int) -> int:
    """Returns into how many parts the archive is divided."""
    at_once = min(cores, memory_mib // ARCHIVE_PART_MIB[1])
    return min(at_once, ARCHIVE_PARTS_MAX) if at_once >= PARTS_AT_ONCE_MIN else ARCHIVE_PARTS


def make_archive(job: Job, tools: Toolchain, own: list[str]) -> None:
    """Compiles the bodies in parts, side by side. Each part is all headers with a share of the bodies."""
    source = job.work / "prefix.cpp"
    source.write_text("".join(f"#include <{name}>\n" for name in BODIES_HEADERS))
    flags = [*HOST_FLAGS, STANDARD, *own, "-O1"]
    stripper, _ = read_headers(job, tools, [*flags, *tools.includes(False)], source)
    room = MemoryRoom(memory_of_build_mib())
    part_count = archive_parts(len(os.sched_getaffinity(0)), room.mib)

    def compile_part(part: int) -> str:
        text, made = job.work / f"bodies{part}.cpp", job.work / f"bodies{part}.o"
        text.write_text(stripper.stripped(part, part_count), errors="surrogateescape")
        words = ["-fkeep-inline-functions", "-ffunction-sections", "-fdata-sections", "-x", "c++", "-c", str(text)]
        with room.take(ARCHIVE_PART_MIB[part_count > ARCHIVE_PARTS]):
            compile_step([tools.cxx, *flags, *words, "-o", str(made)], job.work)
        return str(made)

    with ThreadPoolExecutor(max_workers=part_count) as pool:
        parts = list(pool.map(compile_part, range(part_count)))
    compile_step(["ar", "rcs", str(job.out / ARCHIVE), *parts], job.work)


def make_notes(job: Job, tools: Toolchain) -> None:
    """Notes which bodies nvcc's programs can do without (nvcc_headers.py)."""
    source = job.work / "prefix.cu"
    source.write_text("".join(f"#include <{name}>\n" for name in nvcc_headers.HEADERS))
    command = [tools.nvcc, "--dryrun", "-keep", "-keep-dir", str(job.work), *DEFINES, *HALF_DEFINES, STANDARD]
    command += ["--expt-relaxed-constexpr", *tools.includes(True), "-arch=sm_90", "-Xcompiler", "-fPIC"]
    result = run([*command, "-c", str(source), "-o", str(job.work / "prefix.o")], job.work)
    roots = (f"{tools.torch_root}/include/", "/usr/include/")
    for line in result.text.splitlines():
        found = PREPROCESSED.search(line)
        if found is None or " -E " not in line:
            continue
        compile_step(line[3:].strip(), job.work)
        try:
            nvcc_headers.write_notes(job.work / found.group(1), job.out, roots)
        except (Unreadable, IndexError, RecursionError) as error:
            raise NotMade(f"the headers of torch cannot be read as declarations: {error}") from error


def make_names(job: Job, tools: Toolchain, flags: list[str], source: Path) -> None:
    """Writes the names of the headers, their words, and the macros of g++."""
    list_file = job.work / "prefix.d"
    compile_step([tools.cxx, *flags, "-M", "-MF", str(list_file), "-x", "c++", str(source)], job.work)
    words = re.split(r"(?<!\\)\s+", list_file.read_text().replace("\\\n", " "))
    paths = sorted({Path(word.replace("\\ ", " ")) for word in words if word.startswith("/")})
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


def name_of_macro(line: str) -> str:
    """Returns the name of the macro that a line such as "#define N 3" defines."""
    return line.split()[1].partition("(")[0]


def compile_step(command: list[str] | str, work: Path) -> None:
    result = run(command, work)
    if result.code != 0:
        raise NotMade(f"the headers of torch cannot be precompiled here: {result.text.strip()[:300]}")
