"""Tests that libraries are started one by one, in a process of its own, because torch starts threads in it."""

import subprocess
import sys
import unittest

LOAD = """
import torch
from harness.kernels import library_start

answers = {answers}

def may_begin():
    print("asks")
    return answers.pop(0)

library_start.start(torch.device("{device}"), may_begin)
"""


def start(device: str, answers: list[bool]) -> "subprocess.CompletedProcess[str]":
    program = LOAD.format(device=device, answers=answers)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)


class LibraryStartTest(unittest.TestCase):
    def test_each_part_is_asked_for(self) -> None:
        done = start("cpu", [True] * 2)
        self.assertEqual((done.returncode, done.stdout.split()), (0, ["asks"] * 2), done.stderr)

    def test_no_part_follows_one_that_may_not_begin(self) -> None:
        done = start("cpu", [True, False])
        self.assertEqual((done.returncode, done.stdout.split()), (0, ["asks"] * 2), done.stderr)

    def test_a_process_that_cannot_start_them_ends(self) -> None:
        done = start("xpu", [True])
        self.assertEqual((done.returncode, done.stdout.split()), (1, ["asks"]))
        self.assertIn("a library could not be started", done.stderr)


if __name__ == "__main__":
    unittest.main()
