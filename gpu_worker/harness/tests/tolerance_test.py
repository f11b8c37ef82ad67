"""Tests which tolerance a problem file names for each output."""

import types
import unittest
from typing import Any

import torch
from harness.children.failures import Failed
from harness.problem.tolerance import OutputTolerance, tolerances_of

OUTPUTS = [("out0", torch.float32), ("out1.h", torch.float16), ("out2", torch.float16)]


def tolerances(given: Any, of_workload: Any = None) -> list[OutputTolerance | None]:
    module = types.ModuleType("problem")
    if given is not None:
        vars(module)["TOLERANCE"] = given
    return tolerances_of(module, "problem.py", OUTPUTS, of_workload, "large")


class ToleranceTest(unittest.TestCase):
    def test_without_a_tolerance_there_is_none(self) -> None:
        self.assertEqual(tolerances(None), [None] * 3)

    def test_one_for_all_outputs(self) -> None:
        self.assertEqual(tolerances(1e-3), [OutputTolerance(1e-3, 1e-3)] * 3)
        self.assertEqual(tolerances({"atol": 0.5}), [OutputTolerance(None, 0.5)] * 3)
        self.assertEqual(tolerances({"matched": 0.99}), [OutputTolerance(None, None, 0.99)] * 3)

    def test_an_output_goes_before_its_dtype(self) -> None:
        found = tolerances({torch.float16: 0.25, "out1.h": {"rtol": 0.5}, 0: 0})
        self.assertEqual(found, [OutputTolerance(0, 0), OutputTolerance(0.5, None), OutputTolerance(0.25, 0.25)])
        self.assertEqual(tolerances({"float16": 0.25})[0], None)

    def test_a_workloads_own_goes_before_that_of_the_problem(self) -> None:
        self.assertEqual(tolerances(1e-3, 0.5), [OutputTolerance(0.5, 0.5)] * 3)
        found = tolerances({"float16": 0.25, "out0": 0.125}, {"out1.h": {"atol": 1}})
        self.assertEqual(found, [OutputTolerance(0.125, 0.125), OutputTolerance(None, 1), OutputTolerance(0.25, 0.25)])
        with self.assertRaises(Failed) as raised:
            tolerances(1e-3, {"rtol": 2})
        self.assertIn("problem.py: the tolerance of workload large has rtol = 2", str(raised.exception))

    def test_what_is_wrong_is_said(self) -> None:
        for given, said in (
            ("tight", "TOLERANCE is 'tight'; it is a number, or a dict"),
            ({"rtol": -1}, "has rtol = -1; it is a number from 0 to 1"),
            ({"rtol": 2}, "has rtol = 2; it is a number from 0 to 1"),
            ({"out7": 0.1}, "names 'out7', which is no dtype and none of the outputs out0, out1.h, out2"),
            ({"float16": {"relative": 1}}, "it is a number, or a dict with rtol, atol and matched"),
            ({"float16": True}, "it is a number, or a dict"),
        ):
            with self.assertRaises(Failed) as raised:
                tolerances(given)
            self.assertIn(said, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
