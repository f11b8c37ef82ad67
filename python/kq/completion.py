"""Extracts the source of a kernel from a language model's completion."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kq.errors import BadInput

Completion = str | Sequence[Mapping[str, Any]]

# A fence of three or more marks with any language name. The closing fence may be missing if the completion was cut off.
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})([^\n`]*)\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.M | re.S)
THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.S)
# Thoughts whose opening tag stands in the prompt, or whose closing tag is missing because the completion was cut off.
HALF_THOUGHTS = re.compile(r"\A.*</think(?:ing)?>|\A\s*<think(?:ing)?>.*\Z", re.S)
# A fence with another language name than these may hold a kernel, also one without a name or with a misspelt one.
OTHER_LANGUAGES = frozenset(
    """
    bash bat batch cmake cmd conf console csv diff docker dockerfile fish html ini json json5 jsonc jsonl latex log
    make makefile markdown math md mermaid none output patch plain plaintext powershell ps1 pycon sh shell
    shell-session shellsession sql tex text toml traceback tsv txt xml yaml yml zsh
    """.split()
)
# What a block defines, the name that is judged first. A block that only calls a kernel defines nothing.
DEFINITIONS = (
    re.compile(r"^[ \t]*(class[ \t]+ModelNew\b|def[ \t]+custom_kernel\b)", re.M),
    re.compile(r"^[ \t]*(class|(async[ \t]+)?def)[ \t]+\w|\b__global__\b", re.M),
)


def first_code_block(text: Completion) -> str:
    """Returns the first fenced block of a completion that defines a kernel, or the whole text if there is no fence.

    Thoughts of a reasoning model in `<think>` are dropped. Blocks of another language, such as bash or json, are left
    out. A block with `class ModelNew` or `def custom_kernel` goes before one with any other class or function, and that
    before the rest. If every block is of another language, the first of them is returned.

    A completion may be a chat, which is a list of messages with `role` and `content` as TRL passes them. Then the last
    message counts. Its content may be a text, a list of parts of which the texts count, or None.
    """
    return _kernel_blocks(text)[0]


def last_code_block(text: Completion) -> str:
    """Returns the last block where first_code_block() returns the first one, for models that correct themselves."""
    return _kernel_blocks(text)[-1]


def without_thoughts(text: str) -> str:
    """Returns the answer of a reasoning model without its thoughts."""
    return HALF_THOUGHTS.sub("", THOUGHTS.sub("", text))


def _kernel_blocks(completion: Completion) -> list[str]:
    """Returns the blocks that are equally likely to be the kernel; the whole text if there is no fence."""
    text = without_thoughts(completion if isinstance(completion, str) else _last_text(completion))
    blocks = [(_language(one.group(2)), one.group(3)) for one in FENCE.finditer(text)]
    if not blocks:
        return [text]
    sources = [source for language, source in blocks if language not in OTHER_LANGUAGES]
    for definition in DEFINITIONS:
        if found := [source for source in sources if definition.search(source)]:
            return found
    return sources or [source for _, source in blocks]


def _language(info: str) -> str:
    """Returns the language in the words after a fence, such as 'python' of `python title="a.py"` and `{.python}`."""
    return info.strip(" \t\r{.").partition(" ")[0].partition("}")[0].lower()


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
