"""Tests that every example of docs/user/problems.md is a problem whose reference passes against itself, with a real
broker and a real worker on the CPU.
"""

import re
import unittest

import kq

PAGE = kq.ROOT / "docs/user/problems.md"


class ProblemsPage(kq.SharedWorkerTest):
    def setUp(self) -> None:
        super().setUp()
        self.running_broker = self.broker()
        self.running_broker.__enter__()

    def tearDown(self) -> None:
        self.running_broker.__exit__(None, None, None)
        super().tearDown()

    def test_every_example_runs(self) -> None:
        examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
        self.assertGreater(len(examples), 3)
        for number, example in enumerate(examples):
            problem = self.folder / f"example_{number}.py"
            problem.write_text(example)
            sent = kq.kq("submit", problem, "--problem", problem, "--run", f"page-{number}", KQ_BROKER=self.url)
            self.assert_end(sent, 0)
        for number in range(len(examples)):
            waited = kq.kq("results", f"page-{number}", "--wait", "--timeout", "300", "--broker", self.url)
            with self.subTest(example=number):
                self.assert_end(waited, 0)


if __name__ == "__main__":
    unittest.main()
