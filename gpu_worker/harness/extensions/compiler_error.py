"""Whether an error of a compiler is the source's own, so that no other way of building it can end otherwise.

A way that leaves headers or parts of a source out may fail where the whole would not. Told are errors about one unknown name, and only those that
cannot come of what was left out:

- the name stands in no header that was left out: `names` has every word of them, macros too;
- nothing with that name was left out of the source;
- no flag defines it, and it is none of those that compilers know by themselves.

Whatever else a compiler says is left to the way that compiles all there is.
"""

import re
from collections.abc import Iterable, Sequence

from harness.extensions.loader_call import Call

# g++, then cudafe++ and cicc.
UNKNOWN = re.compile(
    r"[‘'](?P<a>\w+)[’'] (?:was not declared in this scope|does not name a type|has not been declared|is not a member of )|has no member named [‘'](?P<b>\w+)[’']"
    r'|identifier "(?P<c>\w+)" is undefined|has no member "(?P<d>\w+)"'
)
WORD = re.compile(rb"[A-Za-z_]\w*")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.M)


def words_of(text: bytes) -> bytes:
    """Every word of it, a line each: what `is_own` looks names up in."""
    return b"\n" + b"\n".join(sorted(set(WORD.findall(text)))) + b"\n"


def is_source_error(
    words: str, source: Sequence[str], compiled: str, names: bytes, headers: Iterable[str], flags: Iterable[str]
) -> bool:
    """Of the first error's words, which is about a line of the source. `source` is all of it, `compiled` what the compiler saw, `names` those of the
    `headers` that may have been left out."""
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


TAIL_MAX = 1200


# g++: "cuda_sources:9:12: error: words"; cudafe++, cicc: "cuda_sources(9): error: words"; ld: "undefined reference to `f()'"
FIRST_ERROR = re.compile(
    r"^(?P<file>[^\s:(]+)(?:\((?P<line>\d+)\)|:(?P<line2>\d+)(?::\d+)?): (?:catastrophic |fatal )?error(?: #[\w-]+)?:? ?(?P<words>.*)$",
    re.M,
)


LINK_ERROR = re.compile(
    r"(undefined (?:reference to|symbol:?) .*|cannot find -l\S+|unable to find library \S+|duplicate symbol:? .*|multiple definition of .*)"
)


def error_excerpt(call: Call, log: str) -> str:
    """The first error, in lines of the submission where its source can be found there; then what the compiler said from there on."""
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
