"""Tests what the entries of a problem's FORBIDDEN mean."""

import types
import unittest
from typing import Any

import torch
from harness.children.failures import Failed
from harness.problem.forbidden import ENTRIES_MAX, Forbidden, forbidden_of


def forbidden(given: Any) -> Forbidden:
    module = types.ModuleType("problem")
    vars(module)["FORBIDDEN"] = given
    found = forbidden_of(module, "problem.py")
    assert found is not None
    return found


class ForbiddenTest(unittest.TestCase):
    def test_without_the_list_nothing_is_forbidden(self) -> None:
        self.assertIsNone(forbidden_of(types.ModuleType("problem"), "problem.py"))

    def test_an_operator_is_all_of_its_overloads(self) -> None:
        found = forbidden(["aten::mm", "aten::add.out"])
        for name in ("aten::mm", "aten::mm.out", "aten::mm_", "aten::add.out"):
            self.assertTrue(found.has_operator(name), name)
        for name in ("aten::addmm", "aten::add", "aten::add.Tensor"):
            self.assertFalse(found.has_operator(name), name)
        self.assertTrue(forbidden(["torch.ops.aten.mm.default"]).has_operator("aten::mm"))

    def test_a_function_is_the_operator_of_its_name_too(self) -> None:
        found = forbidden(["torch.nn.functional.conv2d", "torch.Tensor.__matmul__", "torch.linalg.inv"])
        self.assertEqual(found.operators, {"aten::conv2d", "aten::matmul", "aten::linalg_inv"})
        self.assertIn(torch.conv2d, found.functions)
        (alone,) = forbidden(["torch.nn.functional.multi_head_attention_forward"]).functions
        self.assertIs(alone, torch.nn.functional.multi_head_attention_forward)

    def test_modules_and_libraries(self) -> None:
        found = forbidden(("torch.nn.Linear", "cuBLAS"))
        self.assertEqual((found.modules, found.libraries), ([torch.nn.Linear], ["cublas"]))

    def test_what_names_nothing_known_is_said(self) -> None:
        for entry in (
            "aten::nope",
            "aten::mm.nope",
            "torch.nn.functional.conv4d",
            "torch.compile",
            "torch.nn",
            "torch.Tensor",
            "torch.no.such",
            "mm",
            "",
            "torch..mm",
            "aten::",
        ):
            with self.assertRaises(Failed) as raised:
                forbidden(["aten::mm", entry])
            self.assertIn(
                f"problem.py: FORBIDDEN names {entry!r}, of which no call could be seen", str(raised.exception)
            )
        for given, said in (
            ("aten::mm", "FORBIDDEN is 'aten::mm'; it is a list of names"),
            ([3], "FORBIDDEN is [3]; it is a list of names"),
            (["aten::mm"] * (ENTRIES_MAX + 1), "FORBIDDEN has 257 entries; at most 256"),
        ):
            with self.assertRaises(Failed) as raised:
                forbidden(given)
            self.assertIn(said, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
