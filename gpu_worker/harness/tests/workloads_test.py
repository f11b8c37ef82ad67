"""Tests which workloads a problem file defines, and with which arguments their inputs are drawn."""

import types
import unittest
from typing import Any

import torch
from harness.children.failures import Failed
from harness.children.page import WORKLOADS_MAX, WorkloadDesc
from harness.problem.workloads import Workload, fill_table, workloads_of


def module(**names: Any) -> types.ModuleType:
    made = types.ModuleType("problem")
    vars(made).update(names)
    return made


def workloads(**names: Any) -> list[Workload]:
    return workloads_of(module(**names), "problem.py")


def sized(n: int, dtype: torch.dtype = torch.float32) -> list[Any]:
    return [torch.ones(n, dtype=dtype)]


class WorkloadsTest(unittest.TestCase):
    def said(self, **names: Any) -> str:
        with self.assertRaises((Failed, AttributeError)) as raised:
            workloads(**names)
        return str(raised.exception)

    def test_get_inputs_alone_is_one_workload(self) -> None:
        (one,) = workloads(get_inputs=lambda: [7])
        self.assertEqual((one.name, one.weight, one.get_inputs(), one.get_init_inputs()), ("default", 1.0, [7], []))

    def test_each_group_is_a_workload_and_is_drawn_anew(self) -> None:
        drawn = []

        def get_input_groups() -> list[list[Any]]:
            drawn.append(len(drawn))
            return [[drawn[-1], "a"], [drawn[-1], "b"]]

        first, second = workloads(get_input_groups=get_input_groups)
        self.assertEqual((first.name, second.name), ("0", "1"))
        self.assertEqual((second.get_inputs(), second.get_inputs()), ([1, "b"], [2, "b"]))

    def test_a_dict_is_passed_by_keyword(self) -> None:
        small, large = workloads(
            WORKLOADS=[{"n": 4}, {"n": 8, "dtype": torch.float16, "name": "large", "weight": 3}], get_inputs=sized
        )
        self.assertEqual((small.name, small.weight), ("n=4", 1.0))
        self.assertEqual((large.name, large.weight), ("large", 3.0))
        self.assertEqual([(len(x), x.dtype) for x in large.get_inputs()], [(8, torch.float16)])

    def test_a_tolerance_describes_the_workload_itself(self) -> None:
        own, none = workloads(WORKLOADS=[{"n": 4, "tolerance": {"rtol": 0.5}}, {"n": 8}], get_inputs=sized)
        self.assertEqual((own.name, own.tolerance, none.tolerance), ("n=4", {"rtol": 0.5}, None))
        (parameter,) = workloads(WORKLOADS=[{"tolerance": 2, "n": 1}], get_inputs=lambda tolerance, n: [tolerance])
        self.assertEqual((parameter.tolerance, parameter.get_inputs()), (None, [2]))

    def test_a_generated_name_has_all_values(self) -> None:
        (one,) = workloads(WORKLOADS=[{"n": 4, "dtype": torch.bfloat16}], get_inputs=sized)
        self.assertEqual(one.name, "n=4:dtype=bfloat16")

    def test_the_constructor_gets_what_it_takes(self) -> None:
        (one,) = workloads(
            WORKLOADS=[{"n": 4, "width": 2}], get_inputs=lambda n, width: [n * width], get_init_inputs=lambda n: [n]
        )
        self.assertEqual((one.get_inputs(), one.get_init_inputs()), ([8], [4]))

    def test_a_parameter_called_name_is_the_problems_own(self) -> None:
        (one,) = workloads(WORKLOADS=[{"name": "x", "n": 1}], get_inputs=lambda name, n: [name])
        self.assertEqual((one.name, one.get_inputs()), ("name=x:n=1", ["x"]))

    def test_what_is_wrong_is_said(self) -> None:
        self.assertEqual(self.said(), "problem.py defines no get_inputs")
        self.assertEqual(self.said(WORKLOADS=[{}]), "problem.py defines no get_inputs")
        self.assertIn("WORKLOADS is a int; it is a list of dicts", self.said(WORKLOADS=3, get_inputs=sized))
        self.assertIn("WORKLOADS[0] is a int; it is a dict", self.said(WORKLOADS=[3], get_inputs=sized))
        self.assertIn("defines 0 workloads; 1 to 128", self.said(WORKLOADS=[], get_inputs=sized))
        many = [{"n": i} for i in range(WORKLOADS_MAX + 1)]
        self.assertIn("defines 129 workloads", self.said(WORKLOADS=many, get_inputs=sized))
        self.assertIn("two workloads are named 'n=1'", self.said(WORKLOADS=[{"n": 1}, {"n": 1}], get_inputs=sized))
        for weight in (-1, float("nan"), float("inf"), "3", True):
            said = self.said(WORKLOADS=[{"n": 1, "weight": weight}], get_inputs=sized)
            self.assertIn("a weight is a number from 0 on", said)
        [checked] = workloads(WORKLOADS=[{"n": 1, "weight": 0}], get_inputs=sized)
        self.assertEqual(checked.weight, 0)
        self.assertIn("a name is printable text", self.said(WORKLOADS=[{"n": 1, "name": "a\nb"}], get_inputs=sized))
        self.assertIn("returned a int; it returns a list of lists", self.said(get_input_groups=lambda: 3))

    def test_long_names_stay_apart(self) -> None:
        long = ["x" * 200 + str(i) for i in range(2)]
        found = workloads(WORKLOADS=[{"n": 1, "name": name} for name in long], get_inputs=sized)
        self.assertEqual(len({one.name for one in found}), 2)
        table = (WorkloadDesc * 2)()
        fill_table(table, found)
        self.assertEqual([entry.name.decode() for entry in table], [one.name for one in found])


if __name__ == "__main__":
    unittest.main()
