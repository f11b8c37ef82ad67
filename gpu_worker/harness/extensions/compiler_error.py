"""Errors of compilers: the excerpt that a submitter is shown, and whether an error is the source's own, so that no
other way to build can end otherwise.

A way to build that leaves out headers or parts of a source may fail where the whole source would not. is_source_error()
recognises errors about one unknown name that cannot come from what was left out:

- The name stands in no header that was left out: `names` has every word of them, macros included.
- No text with that name was left out of the source.
- No flag defines the name, and the name is none of those that compilers know by themselves.

All other errors are left to the way that compiles the whole source.
"""

import re
from collections.abc import Iterable, Sequence

from harness.extensions.loader_call import Call

# The messages of g++, then those of cudafe++ and cicc.
UNKNOWN = re.compile(
    r"[‘'](?P<a>\w+)[’'] (?:was not declared in this scope|does not name a type|"
    r"has not been declared|is not a member of )"
    r"|has no member named [‘'](?P<b>\w+)[’']"
    r'|identifier "(?P<c>\w+)" is undefined|has no member "(?P<d>\w+)"'
)
# What assemblers, linkers and compilers say when a file reaches the limit of a build, or its disk is full.
TOO_LARGE = re.compile(r"File size limit exceeded|File too large|No space left on device", re.I)
WORD = re.compile(rb"[A-Za-z_]\w*")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.M)
TAIL_MAX = 1200
# Matches "cuda_sources:9:12: error: words" of g++, and "cuda_sources(9): error: words" of cudafe++ and cicc.
FIRST_ERROR = re.compile(
    r"^(?P<file>[^\s:(]+)(?:\((?P<line>\d+)\)|:(?P<line2>\d+)(?::\d+)?): "
    r"(?:catastrophic |fatal )?error(?: #[\w-]+)?:? ?(?P<words>.*)$",
    re.M,
)
LINK_ERROR = re.compile(
    r"(undefined (?:reference to|symbol:?) .*|cannot find -l\S+|unable to find library \S+|duplicate symbol:? .*"
    r"|multiple definition of .*)"
)


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


def error_excerpt(call: Call, log: str) -> str:
    """Returns the first error, in lines of the submission if its source is found there, and then the compiler's output
    from that error on.
    """
    if large := TOO_LARGE.search(log):
        return (
            f"{call.place or call.name}: the compiler writes more than a build may write, which is 1 GiB in all"
            f"\n{log[max(0, large.start() - TAIL_MAX // 2) :].strip()[:TAIL_MAX]}"
        )
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
