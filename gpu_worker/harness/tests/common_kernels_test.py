"""That each of them can be asked for, on the CPU; what loading them on a GPU is worth is in docs/performance.md."""

import unittest

import torch

from harness import common_kernels


class CommonKernels(unittest.TestCase):
    def test_each_can_be_launched(self) -> None:
        common_kernels.launch(torch.device("cpu"))

    @unittest.skipIf(torch.cuda.is_available(), "there is a GPU here")
    def test_a_child_that_cannot_load_them_ends(self) -> None:
        with self.assertRaisesRegex(SystemExit, "kernels could not be loaded ahead"):
            common_kernels.load(torch.device("cuda"))


if __name__ == "__main__":
    unittest.main()
