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


RIGHT = "class ModelNew:\n    pass\n"
ANSWER = f"```python\n{RIGHT}```\n"


@pytest.mark.parametrize(
    "before",
    [
        "```bash\npip install triton\n```\nThen:\n",
        "```JSON\n{}\n```\n~~~ console\n$ ls\n~~~\n",
        "```{.yaml}\na: 1\n```\n",
        "The reference is\n```python\nclass Model:\n    pass\n```\n",
        "```\na plan\n```\n```python\nimport torch\nModelNew()(x)\n```\n",
        "<think>\nA draft:\n```python\nclass ModelNew: draft\n```\n</think>\n",
        "A draft whose opening tag is in the prompt:\n```python\nclass ModelNew: draft\n```\n</think>\n",
        "<think>an open fence ```python\n```python\nclass</think>",
    ],
)
def test_only_a_block_that_defines_a_kernel_is_the_source(before: str) -> None:
    assert kq.first_code_block(before + "\n" + ANSWER) == RIGHT
    assert kq.first_code_block([{"role": "assistant", "content": before + "\n" + ANSWER}]) == RIGHT
    # What follows the kernel, such as how it is called, changes nothing.
    after = "```python\nprint(1)\n```\n<think>\nRight.\n</think>\n```bash\nls\n```"
    assert kq.last_code_block(before + "\n" + ANSWER + after) == RIGHT


def test_the_last_block_is_that_of_a_correction() -> None:
    text = f"```python\nclass ModelNew: wrong\n```\nBetter:\n{ANSWER}"
    assert kq.first_code_block(text) == "class ModelNew: wrong\n"
    assert kq.last_code_block(text) == RIGHT


def test_thoughts_that_were_cut_off_hold_no_source() -> None:
    assert kq.first_code_block(f"<think>\n{ANSWER}") == ""
    assert kq.first_code_block("x = '<think>'\n") == "x = '<think>'\n"


def test_a_block_of_another_language_is_the_source_where_there_is_no_other() -> None:
    assert kq.first_code_block("```bash\nls\n```\n") == "ls\n"


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
