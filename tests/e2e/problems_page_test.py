"""Tests that every example of docs/user/problems.md is a problem whose reference passes against itself, with a real
broker and a real worker on the CPU.
"""

import re
import unittest

import kq

PAGE = kq.ROOT / "docs/user/problems.md"


class ProblemsPage(kq.SubmitTest):
    def test_every_example_runs(self) -> None:
        examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
        self.assertGreater(len(examples), 3)
        for number, example in enumerate(examples):
            with self.subTest(example=number):
                [row] = kq.dump(self.submit(example, example), "--broker", self.url)
                self.assertEqual(row["verdict"], "passed", row["message"])


if __name__ == "__main__":
    unittest.main()
