"""Tests what is said about a Python file that cannot be parsed."""

import ast
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.facts.syntax_errors import syntax_error_text  # noqa: E402


def told(source: str) -> str:
    try:
        ast.parse(source)
    except SyntaxError as error:
        return syntax_error_text(error, source.encode())
    raise AssertionError("the source can be parsed")


class SyntaxErrors(unittest.TestCase):
    def test_an_answer_in_markdown_is_recognised(self) -> None:
        for source, line in (
            ("```python\nx = 1\n```\n", 1),
            ("Here is your kernel:\n\n```python\nx = 1\n```\nIt is fast.\n", 3),
            ("Here is your kernel:\n```\nx = 1", 2),
            ("x = 1\n```\nThis kernel is fast.\n", 2),
            ("def f():\n    return 1\n    ```\n", 3),
        ):
            self.assertTrue(
                told(source).endswith(f"; line {line} is a Markdown fence, send only the code inside"), told(source)
            )

    def test_a_fence_that_is_not_the_mistake_is_not_mentioned(self) -> None:
        for source in (
            "x = (\n",
            '"""An example:\n\n```python\nx = 1\n```\n"""\ny = (\n',
            "x = )\n```python\nx = (\n```\n",
            "x = )\n```\n```\n",
        ):
            self.assertNotIn("Markdown", told(source))


if __name__ == "__main__":
    unittest.main()
