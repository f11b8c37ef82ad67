"""Tests that kernels are loaded part by part, in a process of its own, because torch starts threads in it."""

import subprocess
import sys
import unittest

from harness.kernels import kernel_loading

LOAD = """
import torch
from harness.kernels import kernel_loading

answers = {answers}

def may_begin():
    print("asks")
    return answers.pop(0)

kernel_loading.load(torch.device("{device}"), may_begin)
"""


def start(device: str, answers: list[bool]) -> "subprocess.CompletedProcess[str]":
    program = LOAD.format(device=device, answers=answers)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)


class KernelLoadingTest(unittest.TestCase):
    def test_each_part_is_asked_for(self) -> None:
        count = len(kernel_loading.PARTS)
        done = start("cpu", [True] * count)
        self.assertEqual((done.returncode, done.stdout.split()), (0, ["asks"] * count), done.stderr)

    def test_no_part_follows_one_that_may_not_begin(self) -> None:
        done = start("cpu", [True, False])
        self.assertEqual((done.returncode, done.stdout.split()), (0, ["asks"] * 2), done.stderr)

    def test_a_process_that_cannot_load_them_ends(self) -> None:
        done = start("xpu", [True])
        self.assertEqual((done.returncode, done.stdout.split()), (1, ["asks"]))
        self.assertIn("kernels could not be loaded", done.stderr)


if __name__ == "__main__":
    unittest.main()
