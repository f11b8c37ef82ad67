"""Tests whether a submission child tells that its submission ran without its own kernels."""

import types
import unittest
from pathlib import Path

import numpy
from harness.children.page import Command, Failure, Status
from harness.kernels.kernel_calls import KernelCalls
from world import WorldTest

KERNEL = """
import torch, triton
import triton.language as tl
@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.maximum(v, 0.0), mask=i < n)
class ModelNew(torch.nn.Module):
    def forward(self, x):
"""
LAUNCH = "        y = torch.empty_like(x); relu_kernel[(1,)](x, y, x.numel(), B=32); return y\n"
FALLBACK = "        try: return no_such_wrapper(x)\n        except Exception: return torch.relu(x)\n"


class KernelCallsTest(WorldTest):
    def notes(self, new: str) -> list[str]:
        submission = self.submission(new, backend="triton")
        self.assert_ok(submission.do(Command.LOAD))
        answers = [submission.do(Command.CALL) for _ in range(3)]
        self.assertEqual({answer[:2] for answer in answers}, {(Status.OK, Failure.NONE)}, answers)
        return [text for _, _, text in answers]

    def test_a_kernel_that_runs_needs_no_word(self) -> None:
        self.assertEqual(self.notes(KERNEL + LAUNCH), ["", "", ""])

    def test_a_fallback_is_told_in_the_first_calls(self) -> None:
        words = "the call ran no kernel of the submission's own, which has relu_kernel"
        self.assertEqual(self.notes(KERNEL + FALLBACK), [words, words, ""])

    def test_a_submission_without_kernels_has_none_to_run(self) -> None:
        new = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x): return torch.relu(x)\n"
        self.assertEqual(self.notes(new), ["", "", ""])


class ExtensionCalls(unittest.TestCase):
    def test_functions_of_an_extension_are_seen(self) -> None:
        module = types.ModuleType("add")
        vars(module)["add"] = numpy.frombuffer  # a function of C, as pybind makes them
        for call, words in ((lambda: module.add(b""[:0] or b"ab", dtype="u1"), ""), (lambda: len("a"), "which has")):
            calls = KernelCalls(Path("/nowhere"), [module])
            with calls.watched():
                call()
            self.assertIn(words, calls.words())
            self.assertEqual(bool(words), bool(calls.words()))

    def test_what_cannot_be_seen_is_not_claimed(self) -> None:
        self.assertEqual(KernelCalls(Path("/nowhere"), ["/out/library.so"]).words(), "")


if __name__ == "__main__":
    unittest.main()
