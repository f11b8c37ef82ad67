"""The lines of a submission that name its leaderboard and its GPU, as popcorn-cli reads them.

#!POPCORN leaderboard vector_add
#!POPCORN gpu H100
"""

from __future__ import annotations

from dataclasses import dataclass, field

MARKS = ("#!POPCORN", "//!POPCORN")


@dataclass
class Directives:
    """What the lines name. A later line replaces an earlier one of its kind."""

    leaderboard: str = ""  # empty: no line names one
    gpus: list[str] = field(default_factory=list)


def directives_of(code: str) -> Directives:
    """Returns what the lines of a code name. A line begins with its mark; `gpu` and `gpus` mean the same."""
    found = Directives()
    for line in code.split("\n"):
        words = line.split()
        if len(words) < 2 or words[0] not in MARKS or not line.startswith(MARKS):
            continue
        kind = words[1].lower()
        if kind in ("gpu", "gpus"):
            found.gpus = words[2:]
        elif kind == "leaderboard" and len(words) > 2:
            found.leaderboard = words[2]
    return found
