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

# g++, then cudafe++ and cicc.
UNKNOWN = re.compile(
    r"[‘'](?P<a>\w+)[’'] (?:was not declared in this scope|does not name a type|has not been declared|is not a member of )|has no member named [‘'](?P<b>\w+)[’']"
    r'|identifier "(?P<c>\w+)" is undefined|has no member "(?P<d>\w+)"'
)
WORD = re.compile(rb"[A-Za-z_]\w*")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.M)


def names_in(text: bytes) -> bytes:
    """Every word of it, a line each: what `is_own` looks names up in."""
    return b"\n" + b"\n".join(sorted(set(WORD.findall(text)))) + b"\n"


def is_own(
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
    if sum(times(name, text) for text in source) != times(name, compiled) or any(name in flag for flag in flags):
        return False
    left_out = {header for text in source for header in INCLUDE.findall(text)} - set(INCLUDE.findall(compiled))
    return left_out <= set(headers)


def times(name: str, text: str) -> int:
    return len(re.findall(rf"\b{name}\b", text))
