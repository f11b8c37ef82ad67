"""What a model writes -> the source in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

# A fence of three or more, and whatever language it names; cut short where the model stopped before the end.
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.M | re.S)


def first_code_block(text: str | Sequence[Mapping[str, Any]]) -> str:
    """The first fenced block of a completion, as KernelBench takes it; the whole text where there is none.

    A completion may be a chat, messages with `role` and `content` as TRL hands them on: then it is the last message's.
    """
    if not isinstance(text, str):
        text = str(text[-1]["content"]) if text else ""
    found = FENCE.search(text)
    return found.group(2) if found else text
