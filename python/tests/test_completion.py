"""The source in what a model writes."""

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


def test_of_a_chat_it_is_the_last_messages() -> None:
    chat = [{"role": "user", "content": "```\nno\n```"}, {"role": "assistant", "content": "```python\nimport torch\n```"}]
    assert kq.first_code_block(chat) == "import torch\n"
    assert kq.first_code_block([]) == ""
