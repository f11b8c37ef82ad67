"""Tests that a reference which returns memory that it never writes is no problem to judge by."""

import unittest

from harness.children.page import Command, Failure
from world import WorldTest

PROBLEM = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(8))
        torch.nn.init.ones_(self.weight)
    def forward(self, x):
        {}
def get_inputs():
    return [torch.randn(256, 1024)]
"""


class UnwrittenMemory(WorldTest):
    def test_outputs_that_are_never_written_are_found(self) -> None:
        for forward, words in (
            ("return torch.empty_like(x)", "the reference never writes 262144 of 262144 elements of out0"),
            ("y = x.new_empty(4); y[:2] = 1; return x, {'y': y}", "never writes 2 of 4 elements of out1['y']"),
            ("return torch.empty_like(x) * 2 + x", "elements of out0"),
            ("return torch.empty(7, dtype=torch.int64)", "never writes 7 of 7 elements of out0"),
        ):
            with self.subTest(forward=forward):
                reference = self.child({"problem.py": PROBLEM.format(forward)}, role="reference")
                self.assert_failed(reference.do(Command.LOAD, 7), Failure.PROBLEM_INVALID, words)

    def test_memory_that_is_written_later_is_no_mistake(self) -> None:
        for forward in (
            "y = torch.empty_like(x); y.copy_(x); return y",
            "return torch.relu(x, out=torch.empty_like(x)) if False else x.new_empty(3).fill_(float('nan'))",
            "y = x.new_empty(0).resize_(4, 4); torch.mm(x[:4, :4], x[:4, :4], out=y); return y, y.sum().item()",
            "return x * self.weight[0]",
        ):
            with self.subTest(forward=forward):
                reference = self.child({"problem.py": PROBLEM.format(forward)}, role="reference")
                self.assert_ok(reference.do(Command.LOAD, 7))


if __name__ == "__main__":
    unittest.main()
