"""A kernel's arguments against the problem's tables: what is bound to what, without launching anything."""

import ctypes
import json
import struct
import tempfile
import unittest
from pathlib import Path
from typing import Any

import torch

from harness.backends.context import Argument, Context
from harness.backends.cuda import Binding
from harness.failures import Failed
from harness.kernel_spec import read_spec
from harness.role import Job
from harness.tensors import Spec

FLOATS = Spec(torch.float32, torch.Size([4, 8]))
JOB = Job("submission", torch.device("cpu"), "cuda", Path(), Path(), Path(), "k.cu", "p.py", None, "sm_90")


def tensor(name: str, role: str = "input", shape: list[int] | None = None, dtype: str = "float32") -> dict[str, Any]:
    return {"name": name, "type": "tensor", "role": role, "tensor_spec": {"shape": shape or [4, 8], "dtype": dtype}}


class CudaBinding(unittest.TestCase):
    def setUp(self) -> None:
        self.weight = torch.zeros(4, 8)
        self.context = Context(
            job=JOB,
            seed=lambda: None,
            arguments=[Argument("x", FLOATS), Argument("k", None, -3), Argument("y", FLOATS)],
            outputs=[FLOATS],
            states={"linear.weight": self.weight},
            output_views=lambda: [],
        )

    def bind(self, *args: dict[str, Any]) -> Binding:
        with tempfile.TemporaryDirectory() as root:
            path = Path(root) / "k.json"
            path.write_text(json.dumps({"args": list(args)}))
            return Binding(self.context, read_spec(path))

    def parameters(self, binding: Binding) -> list[bytes]:
        return [ctypes.string_at(address, 8) for address in binding.parameters]

    def test_an_input_without_a_spec_is_whatever_the_problem_has(self) -> None:
        ids = Spec(torch.int64, torch.Size([16]))
        self.context.arguments.append(Argument("ids", ids))
        self.bind({"name": "ids", "type": "tensor", "role": "input"}, tensor("out", "output"))

    def test_names_find_arguments_states_outputs_and_numbers(self) -> None:
        binding = self.bind(
            tensor("y"),
            tensor("linear.weight"),
            tensor("out", "output"),
            tensor("x"),
            {"name": "k", "type": "int"},
            {"name": "n", "type": "int", "value": -1},
            {"name": "a", "type": "float", "value": 1.5},
            {"name": "b", "type": "float", "value": 2, "dtype": "float64"},
            {"name": "c", "type": "bool", "value": True},
        )
        x, y, out = torch.zeros(4, 8), torch.zeros(4, 8), torch.zeros(4, 8)
        binding.fill((x, -3, y), [out])
        pointers = [struct.pack("Q", t.data_ptr()) for t in (y, self.weight, out, x)]
        scalars = [
            struct.pack("q", -3),
            struct.pack("q", -1),
            struct.pack("f", 1.5) + bytes(4),
            struct.pack("d", 2.0),
            b"\1" + bytes(7),
        ]
        self.assertEqual(self.parameters(binding), pointers + scalars)

    def test_inout_changes_in_place_or_is_an_output(self) -> None:
        x, y, out = torch.ones(4, 8), torch.zeros(4, 8), torch.zeros(4, 8)
        binding = self.bind(tensor("x", "inout"), tensor("out", "output"))
        binding.fill((x, -3, y), [out])
        self.assertEqual(self.parameters(binding), [struct.pack("Q", t.data_ptr()) for t in (x, out)])
        binding = self.bind(tensor("x", "inout"))
        binding.fill((x, -3, y), [out])
        self.assertEqual(self.parameters(binding), [struct.pack("Q", out.data_ptr())])
        self.assertEqual(out.sum(), 32, "it works on a copy")

    def test_what_does_not_fit_is_said_in_words(self) -> None:
        out = tensor("out", "output")
        cases: list[tuple[list[dict[str, Any]], str]] = [
            (
                [tensor("z"), out],
                "argument z is neither a parameter of forward() (x, k, y) nor a state of the reference (linear.weight)",
            ),
            ([tensor("x")], "0 output and 0 inout tensors, the reference returns 1"),
            ([tensor("x", shape=[8, 4]), out], "argument x is said to be float32[8, 4], the problem has float32[4, 8]"),
            ([tensor("x", dtype="float16"), out], "argument x is said to be float16[4, 8]"),
            ([tensor("k"), out], "argument k is a number of forward()"),
            ([{"name": "n", "type": "int"}, out], "argument n has no value"),
        ]
        for args, words in cases:
            with self.subTest(words), self.assertRaises(Failed) as caught:
                self.bind(*args)
            self.assertIn(words, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
