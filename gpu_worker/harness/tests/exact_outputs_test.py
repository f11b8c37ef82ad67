"""Tests that a reference's child computes the truth: on copies in float64, seeded as the call was, from host memory."""

import mmap
import os
import socket
import struct
import unittest
from collections.abc import Callable

import torch
from harness.backends.torch import take_state
from harness.children.page import Command, Failure, Rounding, Status, TensorDesc, TruthKind, TruthOrder
from harness.children.tensors import DTYPE_CODES
from harness.truth import exact_outputs
from world import Child, WorldTest

MEMORY_BYTES = 1 << 20
# Each element of the output is 1e8 too large in float32, because the small part is lost before the large one is taken
# away.
CANCELLING = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((4,), 1e8))
        self.held = [torch.full((4,), 0.25)]
    def forward(self, x, k):
        return torch.nn.functional.dropout(x * 0 + self.weight + self.held[0] - self.weight + k, 0.5), k.argmax()
def get_inputs():
    return [torch.randn(4), torch.arange(4)]
"""
CPU = torch.device("cpu")


def exactness(
    kind: TruthKind = TruthKind.FLOAT64_ON_DEVICE, rounding: Rounding = Rounding.NONE
) -> exact_outputs.Exactness:
    return exact_outputs.Exactness.of(TruthOrder(kind, rounding), CPU)


class Truth(WorldTest):
    def truth_of(self, reference: Child, order: TruthOrder, seed: int) -> tuple[tuple[Status, Failure, str], mmap.mmap]:
        """Has the truth computed from the inputs in the window. Its outputs lie behind the inputs in the memory."""
        page = reference.page
        fd = os.memfd_create("truth")
        os.ftruncate(fd, MEMORY_BYTES)
        memory = mmap.mmap(fd, MEMORY_BYTES)
        end = 0
        for entry in page.inputs[: page.input_count]:
            memory[entry.offset : entry.offset + entry.bytes] = reference.bytes_of(entry)
            end = max(end, entry.offset + entry.bytes)
        for entry in page.outputs[: page.output_count]:
            if entry.dtype == DTYPE_CODES[torch.float32]:
                entry.dtype, entry.bytes = DTYPE_CODES[torch.float64], entry.bytes * 2
            entry.offset = end = (end + 255) // 256 * 256
            end += entry.bytes
        page.window_bytes, page.truth, page.answers[0].calls = MEMORY_BYTES, order, seed
        socket.send_fds(reference.channel, [b"W"], [fd])
        os.close(fd)
        return reference.do(Command.TRUTH), memory

    def test_it_is_computed_in_float64_and_seeded_like_the_call(self) -> None:
        reference, _ = self.pair(CANCELLING, CANCELLING.replace("Model", "ModelNew"))
        self.assert_ok(reference.do(Command.MAKE_INPUTS, 3))
        out = TensorDesc.from_buffer_copy(reference.page.outputs[0])
        self.assert_ok(reference.do(Command.CALL, 11))
        single = struct.unpack("4f", reference.bytes_of(out))
        answer, memory = self.truth_of(reference, TruthOrder(), 11)
        self.assert_ok(answer)
        first, second = reference.page.outputs[:2]
        double = struct.unpack("4d", memory[first.offset : first.offset + 32])
        for a, b, k in zip(single, double, range(4)):
            self.assertIn(b, (0.0, 2 * (k + 0.25)))
            self.assertIn(a, (0.0, 2.0 * k))
            self.assertEqual(a == 0, b == 0 or k == 0, "the same elements are dropped")
        self.assertEqual(struct.unpack("q", memory[second.offset : second.offset + 8]), (3,))
        reference.page.outputs[0] = out
        self.assert_ok(reference.do(Command.CALL, 11))
        self.assertEqual(struct.unpack("4f", reference.bytes_of(out)), single, "the model itself is as before")

    def test_what_float64_cannot_compute_is_told_and_the_child_goes_on(self) -> None:
        problem = CANCELLING.replace("k.argmax()", "k.argmax() if x.dtype == torch.float32 else 1 // 0")
        reference, _ = self.pair(problem, CANCELLING.replace("Model", "ModelNew"))
        self.assert_ok(reference.do(Command.MAKE_INPUTS, 3))
        answer, _ = self.truth_of(reference, TruthOrder(), 11)
        self.assert_failed(answer, Failure.PROBLEM_INVALID, "ZeroDivisionError")
        # the table has the places and dtypes of the first try
        outputs = reference.page.outputs
        outputs[0].dtype, outputs[0].bytes = DTYPE_CODES[torch.float32], 16
        answer, _ = self.truth_of(reference, TruthOrder(TruthKind.FLOAT32_ON_DEVICE, Rounding.NONE), 11)
        self.assert_ok(answer)

    def test_a_submission_computes_none(self) -> None:
        _, submission = self.pair(CANCELLING, CANCELLING.replace("Model", "ModelNew"))
        self.assert_failed(submission.do(Command.TRUTH), Failure.RUNTIME_ERROR, "computes no truth")


class Compute(unittest.TestCase):
    def test_every_tensor_of_the_model_is_converted_and_the_model_is_not(self) -> None:
        class Holder(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.lstm = torch.nn.LSTM(4, 4)
                self.extra = {"held": [torch.ones(4)]}

            def forward(self, value: torch.Tensor) -> torch.Tensor:
                result: torch.Tensor = self.lstm(value)[0] * self.extra["held"][0] * torch.ones(4)
                return result

        model, x = Holder(), torch.randn(2, 3, 4)
        expected = model(x)
        [got] = exact_outputs.compute(model, [x], exactness(), 1)
        self.assertEqual(got.dtype, torch.float64)
        self.assertLess((got - expected).abs().max().item(), 1e-6)
        self.assertEqual({p.dtype for p in model.parameters()} | {model.extra["held"][0].dtype}, {torch.float32})
        self.assertEqual(torch.get_default_dtype(), torch.float32)

    def test_settings_are_as_before_also_after_a_failure(self) -> None:
        before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32, torch.get_default_dtype()

        def fails(_: torch.Tensor) -> torch.Tensor:
            self.assertFalse(torch.backends.cudnn.allow_tf32)
            raise ValueError

        with self.assertRaises(ValueError):
            exact_outputs.compute(fails, [torch.ones(1)], exactness(), 1)
        after = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32, torch.get_default_dtype()
        self.assertEqual(after, before)

    def test_rounding_keeps_the_mantissa_of_the_precision(self) -> None:
        x = torch.tensor([1 + 2**-10, 1 + 2**-11, -1 - 2**-11, 1 + 2**-12, float("inf")])
        tf32 = exact_outputs.rounded(x, Rounding.TF32)
        self.assertEqual(tf32.tolist(), [1 + 2**-10, 1 + 2**-10, -1 - 2**-10, 1, float("inf")])
        self.assertEqual(exact_outputs.rounded(x, Rounding.BF16)[0].item(), 1)
        identity: Callable[[torch.Tensor], torch.Tensor] = torch.clone
        [got] = exact_outputs.compute(identity, [x], exactness(rounding=Rounding.TF32), 1)
        self.assertEqual(got.tolist(), tf32.double().tolist())


class Unmatched(unittest.TestCase):
    def test_states_without_a_partner_are_named_on_both_sides(self) -> None:
        model = torch.nn.Linear(3, 2)
        given = {"fc.weight": torch.ones(2, 3), "bias": torch.ones(2)}
        self.assertEqual(
            take_state(model, given), "the reference has fc.weight [2, 3]; the submission has weight [2, 3]"
        )
        self.assertEqual(take_state(model, dict(model.state_dict())), "")

    def test_names_are_bounded(self) -> None:
        given = {f"w{i}": torch.ones(1) for i in range(20)}
        self.assertTrue(take_state(torch.nn.Identity(), given).endswith("w7 [1] and 12 more"))


if __name__ == "__main__":
    unittest.main()
