"""Errors of compilers: the excerpt that a submitter is shown, and whether an error is the source's own, so that no
other way to build can end otherwise.

A way to build that leaves out headers or parts of a source may fail where the whole source would not. is_source_error()
recognises errors about one unknown name that cannot come from what was left out:

- The name stands in no header that was left out: `names` has every word of them, macros included.
- No text with that name was left out of the source.
- No flag defines the name, and the name is none of those that compilers know by themselves.

All other errors are left to the way that compiles the whole source.

cause_of() tells errors of a source from the limits of a build: what only kq limits must not look like an error that
torch raises, since a submission may catch that one.
"""

import enum
import re
from collections.abc import Iterable, Sequence

from harness.extensions.loader_call import INCLUDE, Call

# The messages of g++, then those of cudafe++ and cicc.
UNKNOWN = re.compile(
    r"[‘'](?P<a>\w+)[’'] (?:was not declared in this scope|does not name a type|"
    r"has not been declared|is not a member of )"
    r"|has no member named [‘'](?P<b>\w+)[’']"
    r'|identifier "(?P<c>\w+)" is undefined|has no member "(?P<d>\w+)"'
)
# What assemblers, linkers and compilers say when a file reaches the limit of a build, or its disk is full.
TOO_LARGE = re.compile(r"File size limit exceeded|File too large|No space left on device", re.I)
# The same for memory, by lines that begin with the name of a program or are a message of the C++ library.
PROGRAM = (
    r"(?:\S*[/-])?(?:cc1plus|cc1|g\+\+|gcc|as|ld|ld\.\w+|collect2|mold|nvcc|cicc|ptxas|cudafe\+\+|fatbinary|nvlink|sh)"
    r"(?![\w+])"
)
NO_MEMORY = re.compile(
    rf"^{PROGRAM}[^\n]*?"
    r"(?:out of memory|cannot allocate memory|memory allocation failure|memory exhausted|killed signal)"
    r"|^(?:virtual memory exhausted\b|LLVM ERROR: out of memory|Killed\b|MemoryError\b)"
    r"|^(?:catastrophic|fatal) error: (?:out of memory|cannot allocate memory)|died due to signal 9\b"
    r"|^terminate called after throwing an instance of 'std::bad_alloc'",
    re.M | re.I,
)
# An error in a line of the source that tells of a limit all the same.
LIMIT_IN_LINE = re.compile(
    r"(?:catastrophic|fatal) error(?: #[\w-]+)?:? (?:error writing to [^\n]*: )?"
    r"(?P<words>out of memory|cannot allocate memory|no space left on device|file too large)\.?$",
    re.I,
)
# What compilers print when the machine, and not the source, is at fault.
MACHINE_FAULTS = (
    "internal compiler error",
    "internal error",
    "Input/output error",
    "Too many open files",
    "Resource temporarily unavailable",
    "Segmentation fault",
    "due to signal",
)
WORD = re.compile(rb"[A-Za-z_]\w*")
TAIL_MAX = 1200
# Matches "cuda_sources:9:12: error: words" of g++, and "cuda_sources(9): error: words" of cudafe++ and cicc.
FIRST_ERROR = re.compile(
    r"^(?P<file>[^\s:(]+)(?:\((?P<line>\d+)\)|:(?P<line2>\d+)(?::\d+)?): "
    r"(?:catastrophic |fatal )?error(?: #[\w-]+)?:? ?(?P<words>.*)$",
    re.M,
)
ASSEMBLER_ERROR = re.compile(r"^[^\n]*:\d+: Error: ", re.M)
LINK_ERROR = re.compile(
    r"(undefined (?:reference to|symbol:?) .*|cannot find -l\S+|unable to find library \S+|duplicate symbol:? .*"
    r"|multiple definition of .*)"
)


class Cause(enum.Enum):
    """What ended a build that failed. All but MEMORY and DISK are what torch raises as well."""

    SOURCE = "every compilation ends likewise"
    UNSURE = "another compilation may end otherwise"
    MEMORY = "a process got no more memory"
    DISK = "a file was larger than a build may write"


def cause_of(log: str) -> Cause:
    """Returns what ended a build, by the output of its compilers. What a compiler said about the source counts more
    than that another step was ended by a limit.
    """
    log = "\n".join(line for line in log.splitlines() if LINK_ERROR.search(line) is None)
    errors = [found.group() for found in FIRST_ERROR.finditer(log)]
    limits = [found["words"].lower() for error in errors if (found := LIMIT_IN_LINE.search(error))]
    is_of_source = len(limits) < len(errors) or ASSEMBLER_ERROR.search(log) is not None
    lacks_memory = NO_MEMORY.search(log) is not None or any("memory" in words for words in limits)
    is_too_large = TOO_LARGE.search(log) is not None
    if is_of_source:
        is_sure = not (lacks_memory or is_too_large or any(words in log for words in MACHINE_FAULTS))
        return Cause.SOURCE if is_sure else Cause.UNSURE
    if is_too_large:
        return Cause.DISK
    return Cause.MEMORY if lacks_memory else Cause.UNSURE


def words_of(text: bytes) -> bytes:
    """Returns every word of a text, one a line, for is_source_error() to look up."""
    return b"\n" + b"\n".join(sorted(set(WORD.findall(text)))) + b"\n"


def is_source_error(
    words: str, source: Sequence[str], compiled: str, names: bytes, headers: Iterable[str], flags: Iterable[str]
) -> bool:
    """Decides about the first error's text, which is about a line of the source. `source` is the whole source,
    `compiled` is what the compiler saw, and `names` has the words of the `headers` that may have been left out.
    """
    found = UNKNOWN.search(words)
    if found is None:
        return False
    name = next(group for group in found.groups() if group)
    if name.startswith("_") or b"\n" + name.encode() + b"\n" in names:
        return False
    if sum(occurrences(name, text) for text in source) != occurrences(name, compiled) or any(
        name in flag for flag in flags
    ):
        return False
    left_out = {header for text in source for header in INCLUDE.findall(text)} - set(INCLUDE.findall(compiled))
    return left_out <= set(headers)


def occurrences(name: str, text: str) -> int:
    return len(re.findall(rf"\b{name}\b", text))


def too_large_excerpt(call: Call, log: str) -> str:
    """Returns a sentence about a file that was larger than a build may write, and the compiler's output around it."""
    large = TOO_LARGE.search(log)
    begin = max(0, large.start() - TAIL_MAX // 2) if large else 0
    return (
        f"{call.place or call.name}: the compiler writes more than a build may write, which is 1 GiB in all"
        f"\n{log[begin:].strip()[:TAIL_MAX]}"
    )


def error_excerpt(call: Call, log: str) -> str:
    """Returns the first error, in lines of the submission if its source is found there, and then the compiler's output
    from that error on.
    """
    found = FIRST_ERROR.search(log)
    tail = log[found.start() if found else 0 :].strip()[:TAIL_MAX]
    if found is None:
        linked = LINK_ERROR.search(log)
        words = linked.group(1) if linked else (log.strip().splitlines() or ["the compiler failed"])[0]
        return f"{call.place or call.name}: {words[:400]}\n{tail}"
    name, line, words = found["file"], int(found["line"] or found["line2"]), found["words"].strip()[:400]
    base = re.sub(r".*/", "", name)
    if name in call.lines:
        file = call.place.partition(":")[0]
        return f"{file}:{call.lines[name] + line - 1}: {words} ({name} line {line})\n{tail}"
    if call.inline and name.startswith(("cpp_sources", "cuda_sources", "functions")):
        return f"{call.place}, {name} line {line}: {words}\n{tail}"
    if not call.inline:
        return f"{base}:{line}: {words}\n{tail}"
    return f"{call.place}: {words} ({base}:{line})\n{tail}"
