"""Tests that kernels are loaded part by part. It uses a process of its own, because torch starts threads in it."""

import subprocess
import sys
import unittest

LOAD = """
import torch
from harness.kernels import common_kernels
common_kernels.load(torch.device("{device}"), lambda: print("asks"))
"""


def load(device: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", LOAD.format(device=device)], capture_output=True, text=True, timeout=120, check=False
    )


class CommonKernelsTest(unittest.TestCase):
    def test_each_part_is_asked_for(self) -> None:
        done = load("cpu")
        self.assertEqual((done.returncode, done.stdout.split()), (0, ["asks"] * 5), done.stderr)

    def test_who_cannot_load_them_ends(self) -> None:
        done = load("xpu")
        self.assertEqual((done.returncode, done.stdout.split()), (1, ["asks"]))
        self.assertIn("kernels could not be loaded ahead", done.stderr)


if __name__ == "__main__":
    unittest.main()
