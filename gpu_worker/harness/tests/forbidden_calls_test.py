"""Tests that a submission child finds out what its submission uses of what the problem forbids."""

import tempfile
import unittest
from pathlib import Path

from harness.children.page import Command, Failure, Status
from harness.problem.forbidden_calls import word_of_library
from world import WorldTest

PROBLEM = """
import torch
FORBIDDEN = ["aten::mm", "torch.matmul", "torch.nn.functional.conv2d", "torch.nn.functional.softmax",
             "torch.nn.Linear", "cublas"]
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8, bias=False)
    def forward(self, x):
        return self.linear(x)
def get_inputs():
    return [torch.randn(4, 8)]
"""
HEAD = """
import torch
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8, bias=False)
        self.calls = 0
    def forward(self, x):
"""  # whose next line is line 9
SUM = "        return (x[:, None, :] * self.linear.weight).sum(-1)\n"


class ForbiddenCallsTest(WorldTest):
    def inspected(self, new: str, problem: str = PROBLEM, **order: str) -> tuple[Status, Failure, str]:
        reference, submission = self.pair(problem, new, **order)
        self.assertEqual(reference.page.has_forbidden, 1)
        submission.page.has_forbidden = 1
        self.assert_ok(submission.do(Command.LOAD, 7))
        self.assert_ok(reference.do(Command.MAKE_INPUTS, 1))
        for entry in reference.page.inputs[: reference.page.input_count]:
            submission.put(entry, reference.bytes_of(entry))
        self.assert_ok(submission.do(Command.CALL, 2))
        return submission.do(Command.INSPECT, 3)

    def assert_found(self, new: str, words: str) -> None:
        self.assertEqual(self.inspected(new), (Status.OK, Failure.NONE, words))

    def test_nothing_is_found_in_a_submission_of_its_own(self) -> None:
        self.assert_ok(self.inspected(HEAD + SUM))

    def test_what_only_a_watched_trial_calls_is_found(self) -> None:
        """A submission that counts calls, and behaves in the calls after the trials, does not know which is watched."""
        dodge = "        self.calls += 1\n        if self.calls < 3:\n            torch.mm(x, self.linear.weight)\n"
        for watched, words in ((0, ""), (1, "calls aten::mm")):
            reference, submission = self.pair(PROBLEM, HEAD + dodge + SUM)
            self.assertEqual(reference.page.wants_own_kernels, 1)
            submission.page.has_forbidden = 1
            self.assert_ok(submission.do(Command.LOAD, 7))
            self.assert_ok(reference.do(Command.MAKE_INPUTS, 1))
            for entry in reference.page.inputs[: reference.page.input_count]:
                submission.put(entry, reference.bytes_of(entry))
            for call in range(4):
                submission.page.is_watched = int(call == 1 and watched)
                self.assert_ok(submission.do(Command.CALL, 2))
            self.assertEqual(submission.do(Command.INSPECT, 3), (Status.OK, Failure.NONE, words))

    def test_each_way_of_calling_has_its_line(self) -> None:
        for call, words in (
            ("torch.mm(x, self.linear.weight.t())", ("torch.mm", "aten::mm")),
            ("x @ self.linear.weight.t()", ("torch.Tensor.__matmul__", "torch.Tensor.matmul", "aten::mm")),
            ("torch.ops.aten.mm.default(x, self.linear.weight.t())", ("aten::mm",)),
            ("self.linear(x)", ("torch.nn.Linear", "aten::mm")),
            ("self.linear.forward(x)", ("torch.nn.Linear", "aten::mm")),
            ("[x.softmax(-1), (x[:, None] * self.linear.weight).sum(-1)][1]", ("torch.Tensor.softmax",)),
        ):
            with self.subTest(call=call):
                # Where several things that the call uses are forbidden, any of them may be named.
                found = self.inspected(f"{HEAD}        return {call}\n")
                self.assertIn(found, [(Status.OK, Failure.NONE, f"calls {word} (new.py:9)") for word in words])

    def test_what_catches_exceptions_hides_nothing(self) -> None:
        self.assert_found(
            HEAD
            + "        try:\n            torch.mm(x, self.linear.weight)\n"
            + "        except BaseException:\n            pass\n"
            + SUM,
            "calls aten::mm (new.py:10)",
        )

    def test_a_failure_under_torchs_modes_does_not_count(self) -> None:
        dodge = "        if torch._C._len_torch_dispatch_stack():\n            raise RuntimeError('not under a mode')\n"
        self.assert_ok(self.inspected(HEAD + dodge + SUM))
        hidden = dodge + "        y = x @ self.linear.weight.t()\n        return y\n"
        status, failure, found = self.inspected(HEAD + hidden)
        self.assertEqual((status, failure), (Status.OK, Failure.NONE))
        self.assertIn(found, ("calls aten::matmul", "calls aten::mm"))

    def test_compiled_code_is_seen_through(self) -> None:
        found = self.inspected(
            HEAD.replace("    def forward", "    @torch.compile(backend='eager')\n    def forward")
            + "        return x @ self.linear.weight.t()\n"
        )
        self.assertIn("calls ", found[2])

    def test_a_call_that_fails_ends_as_any_call_does(self) -> None:
        fails = "        self.calls += 1\n        if self.calls > 1:\n            raise ValueError('once is enough')\n"
        self.assert_failed(self.inspected(HEAD + fails + SUM), Failure.RUNTIME_ERROR, "once is enough")

    def test_torchs_operators_within_an_interpreted_kernel_are_tritons(self) -> None:
        kernel = """
import torch, triton
import triton.language as tl
@triton.jit
def double(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        double[(1,)](x, y, x.numel(), B=64)
        return y
"""
        problem = """
import torch
FORBIDDEN = ["aten::copy_", "aten::_to_copy", "aten::to", "aten::detach", "aten::resize_"]
class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x
def get_inputs():
    return [torch.randn(4, 8)]
"""
        self.assert_ok(self.inspected(kernel, problem, backend="triton"))

    def test_short_names_private_operators_and_python_modules(self) -> None:
        problem = PROBLEM.replace('"cublas"', '"F.relu", "Tensor.topk", "torch._scaled_mm", "sonic_moe", "vllm.ops"')
        new = HEAD + SUM.replace("return ", "x = torch.relu(x)\n        return ")
        self.assertEqual(self.inspected(new, problem)[2], "calls aten::relu (new.py:9)")
        problem = PROBLEM.replace('"cublas"', '"xml.dom.minidom", "vllm.ops"')
        new = "import xml.dom.minidom\n" + HEAD + SUM
        self.assertEqual(self.inspected(new, problem)[2], "imports xml.dom.minidom")
        problem = PROBLEM.replace('"cublas"', '"xml.dom.minidom.parseString", "xml.dom.minidom.no_such"')
        self.assertEqual(self.inspected(new, problem)[2], "imports xml.dom.minidom, which has parseString")

    def test_a_reference_refuses_an_unknown_entry(self) -> None:
        reference = self.child({"problem.py": PROBLEM.replace("aten::mm", "aten::nope")}, role="reference")
        self.assert_failed(reference.do(Command.LOAD, 7), Failure.PROBLEM_INVALID, "FORBIDDEN names 'aten::nope'")
        reference = self.child({"problem.py": PROBLEM.replace("aten::mm", "conv2d")}, role="reference")
        self.assert_failed(reference.do(Command.LOAD, 7), Failure.PROBLEM_INVALID, "FORBIDDEN names 'conv2d'")


class Libraries(unittest.TestCase):
    def test_a_library_is_found_by_the_names_in_a_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "add.so"
            for content, word in (
                (b"\0libcublas.so.12\0", "libcublas.so.12"),
                (b"\0_Z1f\0cublasSgemm_v2\0", "cublasSgemm_v2"),
                (b"\0libcublasLt.so\0", "libcublasLt.so"),
                (b"\0the cublas handle\0curand_init\0_ZN2at4cuda26getCurrentCUDABlasHandleEv\0cublas\0", ""),
                (b"", ""),
            ):
                file.write_bytes(content)
                self.assertEqual(word_of_library(file, "cublas"), word)


if __name__ == "__main__":
    unittest.main()
