"""What a model writes -> the source in it."""

from __future__ import annotations

import re

# A fence of three or more, and whatever language it names; cut short where the model stopped before the end.
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.M | re.S)


def first_code_block(text: str) -> str:
    """The first fenced block of a completion, as KernelBench takes it; the whole text where there is none."""
    found = FENCE.search(text)
    return found.group(2) if found else text
