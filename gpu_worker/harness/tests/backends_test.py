"""Tests each backend against the reference, on the CPU where the backend can run there."""

import array
import json
import signal
import unittest
from pathlib import Path
from typing import Any

from harness.children.page import Command, Failure
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

# A bare kernel, without ModelNew and imports: X.json says how it is launched.
BARE = """
@triton.jit
def positive(value):
    return tl.maximum(value, 0.0)

@triton.jit
def relu_kernel(x_ptr, BLOCK: tl.constexpr, out_ptr, n):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, positive(tl.load(x_ptr + i, mask=i < n)), mask=i < n)
"""
TENSORS = [
    {"name": "x", "type": "tensor"},
    {"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [4, 8], "dtype": "float32"}},
]
BLOCK = {"name": "BLOCK", "type": "int", "value": 16, "is_meta": True}
BARE_SPEC = {
    "args": [TENSORS[0], BLOCK, TENSORS[1], {"name": "n", "type": "int", "value": 32}],
    "launch": {"grid": {"x": 2}, "num_warps": 8, "num_stages": 2},
}
NAMED = """
def relu(x):
    return F.relu(x)

class Relu(nn.Module):
    def forward(self, x):
        return x
    def positive(self, x):
        return torch.relu(x)

def above(x, least, out):
    torch.clamp(x, min=least, out=out)

def both(x):
    return relu(Relu().positive(x))
"""


class Backends(WorldTest):
    def assert_relu(self, new: str, spec: object, **order: Any) -> None:
        child = self.submission(new, {"new.json": json.dumps(spec)}, **order)
        self.assert_ok(child.do(Command.LOAD))
        x = array.array("f", (i - 16 for i in range(32)))
        child.put(child.page.inputs[0], x.tobytes())
        self.assert_ok(child.do(Command.CALL))
        self.assertEqual(
            child.bytes_of(child.page.outputs[0]), array.array("f", (max(value, 0) for value in x)).tobytes()
        )

    def test_a_bare_triton_kernel_is_launched_as_its_contract_says(self) -> None:
        self.assert_relu(BARE, BARE_SPEC, backend="triton")

    def test_what_the_contract_names_is_called(self) -> None:
        least = {"name": "least", "type": "float", "value": 0}
        for backend, spec in (
            ("torch", {"function_name": "relu", "class_name": "Relu"}),
            ("torch_cuda", {"metadata": {"class_name": "Relu", "method_name": "positive"}}),
            ("multi_kernel", {"metadata": {"entry_point": "above"}, "io": {"args": [TENSORS[0], least, TENSORS[1]]}}),
            ("multi_kernel", {"entry_point": "both"}),
            ("multi_kernel", {"entry_point": "both", "args": TENSORS}),  # it takes fewer, and so no outputs
        ):
            with self.subTest(spec):
                self.assert_relu(NAMED, spec, backend=backend)

    def test_what_a_contract_gets_wrong_is_said_in_words(self) -> None:
        unknown = [{**TENSORS[0], "name": "y"}, BLOCK, TENSORS[1], BARE_SPEC["args"][3]]
        for backend, spec, words in (
            (
                "triton",
                {**BARE_SPEC, "args": unknown},
                "argument y is neither a parameter of forward() (x) nor a state of the reference (it has none)",
            ),
            ("triton", {**BARE_SPEC, "kernel_name": "missing"}, "new.py defines no missing"),
            (
                "triton",
                {**BARE_SPEC, "args": [*TENSORS, {**BLOCK, "name": "SIZE"}]},
                "meta argument SIZE is no parameter of the kernel, which has x_ptr, BLOCK",
            ),
            ("multi_kernel", {}, "backend multi_kernel needs an entry_point in new.json"),
            ("torch", {"function_name": 3}, "new.json: function_name is 3, expected a name"),
        ):
            child = self.submission(BARE, {"new.json": json.dumps(spec)}, backend=backend)
            self.assert_failed(child.do(Command.LOAD), Failure.LOAD_FAILED, words)

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

    def test_a_kernel_error_has_its_place(self) -> None:
        _, submission = self.pair(
            RELU, TRITON.replace("tl.maximum(value, 0.0)", "tl.nonsense(value)"), backend="triton"
        )
        self.assert_ok(submission.do(Command.LOAD))
        self.assert_failed(submission.do(Command.CALL), Failure.RUNTIME_ERROR, "(new.py:")

    def test_device_code_gets_a_child_without_python(self) -> None:
        """kq-launcher reports the missing driver; everything before that is as on a GPU."""
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
        self.assert_failed(
            submission.do(Command.LOAD), Failure.LOAD_FAILED, "known are torch, triton, cuda, torch_cuda, multi_kernel"
        )


class State(unittest.TestCase):
    def test_a_parameter_is_found_whatever_the_length_of_its_name(self) -> None:
        import torch
        from harness.backends.torch import take_state
        from harness.children.tensors import short_name

        name = "weight_" * 30
        model = torch.nn.Module()
        model.register_parameter(name, torch.nn.Parameter(torch.zeros(2)))
        # the name as it comes through the table of tensors
        take_state(model, {short_name(name).decode(): torch.ones(2)})
        self.assertEqual(getattr(model, name).tolist(), [1, 1])

    def test_what_a_constructor_makes_of_the_same_numbers_stays(self) -> None:
        import torch
        from harness.backends.torch import is_derived, take_state

        given = torch.randn(8, 8)
        for own in (given / 3, -given, given.T.contiguous(), given.flip(0) * 0.1):
            model = torch.nn.ParameterDict({"w": torch.nn.Parameter(own.clone())})
            take_state(model, {"w": given})
            self.assertTrue(torch.equal(model["w"], own))
        others = (torch.randn(8, 8), given + 1, given.clone(), torch.zeros(8, 8), given.double() * 2)
        self.assertFalse(any(is_derived(own, given) for own in others))
        ones = torch.ones(4)
        self.assertFalse(is_derived(ones * 2, ones), "a constant says nothing about what was drawn")
        half = given.to(torch.bfloat16)
        self.assertTrue(is_derived(half / 3, half))

    def test_a_lazy_parameter_takes_the_shape_of_the_references(self) -> None:
        import torch
        from harness.backends.torch import take_state

        model = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.LazyBatchNorm1d())
        with torch.no_grad():
            reference = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.LazyBatchNorm1d())
            expected = reference.eval()(torch.ones(2, 3))
        take_state(model, {name: value for name, value in reference.state_dict().items()})
        self.assertTrue(torch.equal(model.eval()(torch.ones(2, 3)), expected))
        take_state(torch.nn.LazyLinear(4), {})  # the reference has none of these states, so the layer stays lazy


class Outputs(unittest.TestCase):
    def test_what_lies_in_memory_is_what_is_meant(self) -> None:
        import torch
        from harness.children.tensors import outputs_of

        x = torch.tensor([1 + 2j, 3 - 4j])
        conjugated, negated = outputs_of((torch.conj(x), torch._neg_view(x.real)))
        self.assertFalse(conjugated.is_conj() or negated.is_neg())
        self.assertEqual(torch.view_as_real(conjugated).tolist(), [[1, -2], [3, 4]])
        self.assertEqual(negated.tolist(), [-1, -3])


if __name__ == "__main__":
    unittest.main()
