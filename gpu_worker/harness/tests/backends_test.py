"""Each backend against the reference, on the CPU where it can run there."""

import signal
import unittest
from pathlib import Path

from harness.page import Command, Failure
from world import RELU, WorldTest

TRITON = """
import torch, triton
import triton.language as tl

@triton.jit
def relu_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.maximum(value, 0.0), mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 16),)](x, out, x.numel(), BLOCK=16)
        return out
"""


class Backends(WorldTest):
    def test_triton_runs_in_its_interpreter_without_a_gpu(self) -> None:
        reference, submission = self.pair(RELU, TRITON, backend="triton")
        self.assert_ok(submission.do(Command.LOAD))
        for seed in (1, 2):
            self.assert_ok(reference.do(Command.MAKE_INPUTS, seed))
            submission.put(reference.page.inputs[0], reference.bytes_of(reference.page.inputs[0]))
            self.assert_ok(reference.do(Command.CALL, seed))
            self.assert_ok(submission.do(Command.CALL, seed))
            self.assertEqual(
                submission.bytes_of(submission.page.outputs[0]), reference.bytes_of(reference.page.outputs[0])
            )

    def test_an_autotuned_kernel_needs_a_gpu(self) -> None:
        tuned = TRITON.replace(
            "@triton.jit",
            "@triton.autotune([triton.Config({'BLOCK': 16}), triton.Config({'BLOCK': 32})], key=['n'])\n@triton.jit",
        ).replace(", BLOCK=16)", ")")
        _, submission = self.pair(RELU, tuned, backend="triton")
        answer = submission.do(Command.LOAD)
        if answer[0] == 0:
            answer = submission.do(Command.CALL)
        self.assert_failed(answer, Failure.UNSUPPORTED_HERE, "")

    def test_a_kernel_error_has_its_place(self) -> None:
        _, submission = self.pair(
            RELU, TRITON.replace("tl.maximum(value, 0.0)", "tl.nonsense(value)"), backend="triton"
        )
        self.assert_ok(submission.do(Command.LOAD))
        self.assert_failed(submission.do(Command.CALL), Failure.RUNTIME_ERROR, "(new.py:")

    def test_device_code_gets_a_child_without_python(self) -> None:
        """Here there is no driver, and it says so; everything before that is as on a GPU."""
        child = self.child({"problem.py": RELU}, backend="cuda", device="cuda", entry="add.cu")
        answer = child.do(Command.NULL_CALL)
        supervised = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        self.assertEqual([Path(f"/proc/{pid}/comm").read_text().strip() for pid in supervised], ["kq-launcher"])
        self.assert_failed(answer, Failure.UNSUPPORTED_HERE, "libcuda.so.1")
        self.assertEqual(child.kill(), signal.SIGKILL)

    def test_cuda_is_unsupported_without_a_gpu(self) -> None:
        _, submission = self.pair(RELU, "", backend="cuda", entry="add.cu")
        self.assert_failed(submission.do(Command.LOAD), Failure.UNSUPPORTED_HERE, "needs a GPU")

    def test_an_unknown_backend_lists_the_known_ones(self) -> None:
        _, submission = self.pair(RELU, "", backend="metal")
        self.assert_failed(submission.do(Command.LOAD), Failure.LOAD_FAILED, "known are torch, triton, cuda, torch_cuda")


if __name__ == "__main__":
    unittest.main()
