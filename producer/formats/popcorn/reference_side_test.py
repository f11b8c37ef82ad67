"""Tests reference_side.py, the program of problems in GPU MODE's form that kq judges. Needs torch."""

import sys
import types
import unittest
from pathlib import Path
from typing import Any

import torch

TEXT = (Path(__file__).parent / "reference_side.py").read_text()
WITH_BUFFER = """
import torch
def generate_input(n, seed):
    one = torch.Generator().manual_seed(seed)
    return {"x": torch.randn(n, generator=one), "rest": [torch.empty(n), 2.0]}
def ref_kernel(data):
    out, factor = data["rest"]
    out[...] = data["x"] * factor
    return out
def check_implementation(data, output):
    right = torch.allclose(ref_kernel(data), output)
    return right, "" if right else "off"
"""
ACCUMULATES = WITH_BUFFER.replace("out[...] =", "out +=").replace("torch.empty(n)", "torch.zeros(n)")
UNTOUCHED = """
import torch
def generate_input(n, seed):
    one = torch.Generator().manual_seed(seed)
    return torch.randn(n, generator=one), torch.empty(n)
def ref_kernel(data):
    return data[0] * 2
def check_implementation(data, output):
    return torch.allclose(ref_kernel(data), output), "off"
"""
PLAIN = """
import torch
def generate_input(n):
    return torch.arange(n) * 1.0
def ref_kernel(x):
    return x + 1
def check_implementation(x, output):
    return "" if torch.equal(output, x + 1) else "the sum is\\n off"
"""


def problem(reference: str) -> types.ModuleType:
    """Returns the module of a problem with this text of reference.py."""
    module = types.ModuleType("reference")
    exec(compile(reference, "reference.py", "exec"), vars(module))
    sys.modules["reference"] = module
    made = types.ModuleType("problem")
    exec(compile(TEXT, "problem.py", "exec"), vars(made))
    return made


class ReferenceSide(unittest.TestCase):
    def outputs(self, made: types.ModuleType, case: dict[str, Any]) -> tuple[list[Any], torch.Tensor]:
        inputs = made.get_inputs(case)
        return inputs, made.Model()(*inputs)

    def test_a_buffer_for_the_output_does_not_travel_and_is_made_for_each_call(self) -> None:
        made = problem(WITH_BUFFER)
        inputs, output = self.outputs(made, {"n": 8, "seed": 1})
        data, places, dtypes = inputs
        self.assertEqual(dtypes, (torch.float32,))
        self.assertIsNone(data["rest"][0])
        self.assertEqual(data["rest"][1], 2.0)
        [(path, size, stride, dtype, is_zero)] = places
        self.assertEqual((path, tuple(size), stride, dtype, is_zero), (("rest", 0), (8,), (1,), torch.float32, False))
        self.assertTrue(torch.equal(output, data["x"] * 2))
        self.assertIsNot(made.filled(data, places)["rest"][0], made.filled(data, places)["rest"][0])
        self.assertIsNone(made.check(inputs, output, output))
        self.assertEqual(made.check(inputs, output, output + 1), "off")

    def test_a_buffer_that_the_reference_does_not_touch_is_made_for_each_call(self) -> None:
        half = "torch.empty(n, dtype=torch.float16)"
        for made_as, is_zero in (("torch.empty(n)", False), (half, False), ("torch.zeros(n)", True)):
            text = UNTOUCHED.replace("torch.empty(n)", made_as)
            made = problem(text)
            (data, places, _), _ = self.outputs(made, {"n": 8, "seed": 1})
            self.assertIsNone(data[1], made_as)
            self.assertEqual([(path, zero) for path, _, _, _, zero in places], [((1,), is_zero)])
            if is_zero:
                self.assertEqual(made.filled(data, places)[1].tolist(), [0] * 8)
        self.assertFalse(torch.are_deterministic_algorithms_enabled())

    def test_a_tensor_with_values_or_another_form_than_the_output_stays_an_input(self) -> None:
        for kept in ("torch.ones(n)", "torch.empty(n + 1)", "torch.zeros(n, dtype=torch.int32)"):
            data, places, _ = problem(UNTOUCHED.replace("torch.empty(n)", kept)).get_inputs({"n": 8, "seed": 1})
            self.assertEqual(places, (), kept)
            self.assertIsNotNone(data[1], kept)

    def test_a_tensor_whose_values_count_stays_an_input(self) -> None:
        data, places, _ = problem(ACCUMULATES).get_inputs({"n": 8, "seed": 1})
        self.assertEqual(places, ())
        self.assertEqual(data["rest"][0].tolist(), [0] * 8)

    def test_the_seed_of_a_case_is_drawn_from_torchs_generator(self) -> None:
        made = problem(WITH_BUFFER)
        case = {"n": 8, "seed": 1}

        def drawn(seed: int) -> torch.Tensor:
            torch.manual_seed(seed)
            values: torch.Tensor = made.get_inputs(case)[0]["x"]
            return values

        self.assertTrue(torch.equal(drawn(3), drawn(3)))
        self.assertFalse(torch.equal(drawn(3), drawn(4)))
        self.assertEqual(case["seed"], 1)
        again = problem(WITH_BUFFER)  # the first draw finds the buffers, and draws the same values as later ones
        torch.manual_seed(3)
        self.assertTrue(torch.equal(again.get_inputs(case)[0]["x"], drawn(3)))

    def test_a_plain_tensor_and_a_message_without_a_verdict(self) -> None:
        made = problem(PLAIN)
        inputs, output = self.outputs(made, {"n": 4})
        self.assertEqual(output.tolist(), [1, 2, 3, 4])
        self.assertIsNone(made.check(inputs, output, output))
        self.assertEqual(made.check(inputs, output, output + 1), "the sum is off")

    def test_an_output_gets_the_floating_dtype_of_the_references(self) -> None:
        made = problem(PLAIN)
        values = (torch.tensor([1.0, 2.0]), [torch.tensor([3])])
        dtypes = (torch.float64, torch.int32)
        self.assertEqual(
            [t.dtype for _, t in made._leaves(made.converted(values, dtypes))], [torch.float64, torch.int64]
        )
        self.assertIs(made.converted(values, dtypes[:1]), values)
        self.assertIs(made.converted(values, (torch.float32, torch.int32)), values)

    def test_tensors_of_dtypes_without_any_are_no_buffers(self) -> None:
        text = UNTOUCHED.replace("torch.empty(n)", "torch.empty(n, dtype=torch.float8_e4m3fn)")
        data, places, _ = problem(text).get_inputs({"n": 8, "seed": 1})
        self.assertEqual(places, ())

    def test_named_tuples_keep_their_type(self) -> None:
        named = WITH_BUFFER.replace(
            "import torch\n", "import torch, collections\nD = collections.namedtuple('D', 'x rest')\n", 1
        )
        named = named.replace(
            '{"x": torch.randn(n, generator=one), "rest": [torch.empty(n), 2.0]}',
            "D(torch.randn(n, generator=one), (torch.empty(n), 2.0))",
        )
        named = named.replace('data["rest"]', "data.rest").replace('data["x"]', "data.x")
        data, places, _ = problem(named).get_inputs({"n": 8, "seed": 1})
        self.assertEqual([path for path, *_ in places], [(1, 0)])
        self.assertIsNone(data.rest[0])

    def test_what_a_reference_lacks_is_said(self) -> None:
        with self.assertRaisesRegex(AttributeError, "reference.py defines no ref_kernel: kq judges problems with"):
            problem(PLAIN.replace("ref_kernel", "other"))


if __name__ == "__main__":
    unittest.main()
