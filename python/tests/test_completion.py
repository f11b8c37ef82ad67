"""Tests how the source is extracted from a model's completion."""

from __future__ import annotations

import pytest

import kq


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("import torch\n", "import torch\n"),
        ("Here:\n```python\nimport torch\n```\nand\n```\nno\n```\n", "import torch\n"),
        ("```cpp\r\nint a;\n```", "int a;\n"),
        ("~~~\na\n```\nb\n~~~\n", "a\n```\nb\n"),
        ("````md\n```\nx\n```\n````", "```\nx\n```\n"),
        ("thinking ```inline``` then\n  ```py\n  a = 1\n  ```\n", "  a = 1\n"),
        ("```python\nimport torch\nclass", "import torch\nclass"),
        ("```python\n```\n", ""),
        ("", ""),
    ],
)
def test_the_first_fenced_block_is_the_source(text: str, source: str) -> None:
    assert kq.first_code_block(text) == source


def test_the_source_of_a_chat_is_in_its_last_message() -> None:
    chat = [
        {"role": "user", "content": "```\nno\n```"},
        {"role": "assistant", "content": "```python\nimport torch\n```"},
    ]
    assert kq.first_code_block(chat) == "import torch\n"
    assert kq.first_code_block([]) == ""


def test_the_source_of_a_message_in_parts_is_in_their_texts() -> None:
    parts = [{"type": "text", "text": "```python\nimport"}, {"type": "image"}, {"type": "text", "text": " torch\n```"}]
    assert kq.first_code_block([{"role": "assistant", "content": parts}]) == "import torch\n"
    # The content None has no source; it must not become the text "None".
    assert kq.first_code_block([{"role": "assistant", "content": None, "tool_calls": []}]) == ""


@pytest.mark.parametrize("completion", [5, None, b"x", ["x", 5], [{"role": "assistant"}]])
def test_a_value_that_is_not_a_completion_is_refused(completion: object) -> None:
    with pytest.raises(kq.BadInput, match="a completion is a text|a message has a content"):
        kq.first_code_block(completion)  # type: ignore[arg-type]
