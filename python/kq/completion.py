"""What a model writes -> the source in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kq.errors import BadInput

# A fence of three or more, and whatever language it names; cut short where the model stopped before the end.
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.M | re.S)


def first_code_block(text: str | Sequence[Mapping[str, Any]]) -> str:
    """The first fenced block of a completion, as KernelBench takes it; the whole text where there is none.

    A completion may be a chat, messages with `role` and `content` as TRL hands them on: then it is the last message's,
    whose content may be texts among other parts, or nothing.
    """
    if not isinstance(text, str):
        text = _last_text(text)
    found = FENCE.search(text)
    return found.group(2) if found else text


def _last_text(chat: Any) -> str:
    if not isinstance(chat, Sequence) or isinstance(chat, bytes | bytearray):
        raise BadInput(f"a completion is a text or a list of messages, got {type(chat).__name__}")
    last = chat[-1] if chat else {"content": ""}
    content = last.get("content", last) if isinstance(last, Mapping) else last
    if isinstance(content, list):
        content = "".join(
            part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        )
    if not isinstance(content, str | None):
        raise BadInput(f"a message has a content, which is a text or a list of parts; got {type(content).__name__}")
    return content or ""
