"""Extracts the source of a kernel from a language model's completion."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kq.errors import BadInput

# A fence of three or more marks with any language name. The closing fence may be missing if the completion was cut off.
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.M | re.S)


def first_code_block(text: str | Sequence[Mapping[str, Any]]) -> str:
    """Returns the first fenced block of a completion, as KernelBench does, or the whole text if there is no fence.

    A completion may be a chat, which is a list of messages with `role` and `content` as TRL passes them. Then the last
    message counts. Its content may be a text, a list of parts of which the texts count, or None.
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
