"""Tests problems with several workloads, with a real broker and a real worker on the CPU."""

import json
import unittest

import kq

HEAD = "import torch\n\n\n"
RELU = HEAD + "class Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n\n\n"
NEW = HEAD + "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        "
RIGHT = NEW + "return x.clamp(min=0)\n"
WRONG_FOR_HALF = NEW + "return x.clamp(min=0) if x.dtype != torch.float16 else x\n"

GROUPS = (
    RELU + "def get_input_groups():\n"
    "    return [[torch.randn(n, 64, dtype=d)] for n, d in ((1, torch.float32), (17, torch.float16))]\n"
)
SIZED = """import torch

WORKLOADS = [
    {"rows": 4, "width": 8, "name": "small"},
    {"rows": 64, "width": 32, "weight": 3},
    {"rows": 16, "width": 64},
]


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x):
        return self.linear(x)


def get_inputs(rows, width):
    return [torch.randn(rows, width)]


def get_init_inputs(width):
    return [width]
"""
LINEAR = SIZED[SIZED.index("class Model") : SIZED.index("def get_inputs")].replace("class Model", "class ModelNew")
SAME_LINEAR = HEAD + LINEAR
HUGE = (
    RELU + "WORKLOADS = [{'n': 8}, {'n': 1 << 33, 'name': 'huge'}]\n\n\n"
    "def get_inputs(n):\n    return [torch.randn(n) if n < 100 else torch.zeros(n)]\n"
)


class Workloads(kq.SubmitTest):
    def rows(self, run: str, level: str) -> list[dict[str, str]]:
        return kq.dump(run, "--broker", self.url, "--level", level)

    def test_each_group_of_inputs_is_a_workload(self) -> None:
        run = self.submit(GROUPS, RIGHT)
        [job] = self.rows(run, "job")
        self.assertEqual((job["verdict"], job["cases"]), ("passed", "2 of 2"), job["message"])
        cases = self.rows(run, "case")
        self.assertEqual([(row["case_id"], row["verdict"]) for row in cases], [("0", "passed"), ("1", "passed")])
        product = float(cases[0]["median_us"]) * float(cases[1]["median_us"])
        self.assertAlmostEqual(float(job["median_us"]) ** 2 / product, 1, places=3)
        names = {row["sample_case"] for row in self.rows(run, "sample")}
        self.assertEqual(names, {"0", "1"})

    def test_workloads_may_have_different_numbers_of_arguments(self) -> None:
        sums = "import torch\n\n\nclass {}(torch.nn.Module):\n    def forward(self, xs):\n        return {}\n\n\n"
        groups = "def get_input_groups():\n    return [[[torch.randn(8, 16) for _ in range(n)]] for n in (3, 1, 2)]\n"
        run = self.submit(sums.format("Model", "sum(xs)") + groups, sums.format("ModelNew", "torch.stack(xs).sum(0)"))
        [job] = self.rows(run, "job")
        self.assertEqual((job["verdict"], job["cases"]), ("passed", "3 of 3"), job["message"])

    def test_a_wrong_workload_is_named_and_nothing_is_timed(self) -> None:
        run = self.submit(GROUPS, WRONG_FOR_HALF)
        [job] = self.rows(run, "job")
        self.assertEqual((job["verdict"], job["cases"]), ("wrong_answer", "1 of 2"))
        self.assertTrue(job["message"].startswith("workload 1: "), job["message"])
        self.assertEqual([row["median_us"] for row in self.rows(run, "case")][1], "")
        self.assertEqual(self.rows(run, "sample"), [])

    def test_arguments_of_the_constructor_may_differ(self) -> None:
        run = self.submit(SIZED, SAME_LINEAR)
        cases = self.rows(run, "case")
        self.assertEqual([row["verdict"] for row in cases], ["passed"] * 3, [row["message"] for row in cases])
        self.assertEqual([row["case_id"] for row in cases], ["small", "rows=64:width=32", "rows=16:width=64"])
        self.assertEqual([float(row["case_weight"]) for row in cases], [1, 3, 1])

    def test_a_workload_may_have_a_tolerance_of_its_own(self) -> None:
        # With an atol of 0.5 zeros would pass some of the drawn inputs.
        own = '"name": "small", "tolerance": {"rtol": 0.5, "atol": 0.01}'
        loose = SIZED.replace('"name": "small"', own) + "TOLERANCE = 0.25\n"
        off = SAME_LINEAR.replace("return self.linear(x)", "return self.linear(x) * 1.4")
        cases = self.rows(self.submit(loose, off, "--no-truth"), "case")
        shown = [(row["case_id"], row["verdict"], float(row["rtol"]), float(row["atol"])) for row in cases]
        self.assertEqual(shown[0], ("small", "passed", 0.5, 0.01))
        self.assertEqual(shown[1], ("rows=64:width=32", "wrong_answer", 0.25, 0.25))

    def test_a_selection_runs_some_and_is_on_no_board(self) -> None:
        run = self.submit(SIZED, SAME_LINEAR.replace("super", "1\n        super"), "--workloads", "rows=*")
        [job] = self.rows(run, "job")
        self.assertEqual((job["verdict"], job["cases"], job["workloads"]), ("passed", "2 of 2", "rows=*"))
        board = kq.kq("leaderboard", "--run", run, "--broker", self.url, "--json")
        self.assertNotIn("rows=", board.stdout)
        run = self.submit(SIZED, SAME_LINEAR, "--workloads", "large")
        [job] = self.rows(run, "job")
        self.assertEqual(job["verdict"], "problem_invalid")
        self.assertIn("has no workload large; it has small, rows=64:width=32", job["message"])

    def test_results_show_the_cases(self) -> None:
        run = self.submit(SIZED, SAME_LINEAR.replace("super", "2\n        super"))
        shown = kq.kq("results", run, "--broker", self.url, "--cases")
        self.assert_end(shown, 0)
        for name in ("small", "rows=64:width=32", "rows=16:width=64"):
            self.assertIn(name, shown.stdout)
        [row] = json.loads(kq.kq("results", run, "--broker", self.url, "--cases", "--json").stdout)["rows"]
        self.assertEqual([one["case_id"] for one in row["cases_of_job"]][0], "small")

    def test_one_that_needs_too_much_memory_leaves_the_others(self) -> None:
        run = self.submit(HUGE, RIGHT)
        [job] = self.rows(run, "job")
        self.assertIn(job["verdict"], ("too_large", "out_of_memory", "problem_invalid"), job["message"])
        self.assertIn("workload huge: ", job["message"])

    def test_what_runs_between_calls_is_seen_in_the_last_workload_as_well(self) -> None:
        row = (kq.ROOT / "tests/adversarial/clock/child_never_sleeps.py").read_text()
        for condition in ("True", "x.dtype == torch.float16"):
            with self.subTest(condition):
                call = f"        if {condition}:\n            self.spin()\n        return torch.relu(x)\n"
                body = row.replace("    def forward(self, x):", "    def spin(self):").replace(
                    "        return torch.relu(x)\n", "\n    def forward(self, x):\n" + call
                )
                [job] = self.rows(self.submit(GROUPS, body), "job")
                self.assertEqual((job["verdict"], job["reason"]), ("rejected", "async"), job["message"])

    def test_the_problem_says_what_is_right(self) -> None:
        problem = (
            RELU + "def get_inputs():\n    return [torch.randn(64)]\n\n\n"
            "def check(inputs, expected, got):\n"
            "    if got.sum() < expected.sum():\n        return f'the sum {got.sum():.1f} is too small'\n"
        )
        [job] = self.rows(self.submit(problem, NEW + "return x.clamp(min=0) + 1\n"), "job")
        self.assertEqual(job["verdict"], "passed", job["message"])
        [job] = self.rows(self.submit(problem, NEW + "return x * 0 - 1\n"), "job")
        self.assertEqual((job["verdict"], job["reason"]), ("wrong_answer", "check"))
        self.assertIn("says in trial 0: the sum -64.0 is too small", job["message"])
        [job] = self.rows(self.submit(problem.replace("got.sum() <", "1 / 0 <"), RIGHT), "job")
        self.assertEqual(job["verdict"], "problem_invalid")

    def test_outputs_that_never_vary_are_the_problems_fault(self) -> None:
        constant = (
            HEAD + "class Model(torch.nn.Module):\n    def forward(self, x):\n        return x * 0 + 0.5\n\n\n"
            "def get_inputs():\n    return [torch.randn(64)]\n"
        )
        [job] = self.rows(self.submit(constant, NEW + "return torch.full_like(x, 0.5)\n"), "job")
        self.assertEqual((job["verdict"], job["fault"], job["reason"]), ("problem_invalid", "problem", "constant"))

    def test_the_problems_tolerance_holds(self) -> None:
        problem = RELU + "TOLERANCE = {'matched': 0.9}\n\n\ndef get_inputs():\n    return [torch.randn(100)]\n"
        some = NEW + "y = x.clamp(min=0)\n        y[:5] += 1\n        return y\n"
        [job] = self.rows(self.submit(problem, some), "job")
        self.assertEqual(job["verdict"], "passed", job["message"])
        [job] = self.rows(self.submit(problem.replace("0.9", "0.99"), some), "job")
        self.assertEqual(job["verdict"], "wrong_answer")

    def test_an_exception_has_its_line_as_place(self) -> None:
        raising = NEW + "return torch.no_such(x)\n"
        problem = RELU + "\n\ndef get_inputs():\n    return [torch.randn(100)]\n"
        [job] = self.rows(self.submit(problem, raising), "job")
        self.assertEqual(job["verdict"], "runtime_error", job["message"])
        self.assertRegex(job["place"], f"^.*[.]py:{raising.count(chr(10))}$")
        self.assertTrue(job["message"].endswith(f"({job['place']})"), job["message"])

    def test_a_forbidden_call_is_rejected_with_its_line(self) -> None:
        problem = SIZED + 'FORBIDDEN = ["torch.nn.Linear", "aten::addmm"]\n'
        [job] = self.rows(self.submit(problem, SAME_LINEAR), "job")
        self.assertEqual((job["verdict"], job["reason"], job["rule"]), ("rejected", "policy", "forbidden"))
        line = SAME_LINEAR[: SAME_LINEAR.index("self.linear(x)")].count("\n") + 1
        self.assertRegex(job["message"], "^workload small: the submission calls (torch.nn.Linear|aten::addmm) ")
        self.assertRegex(job["place"], f"^.*[.]py:{line}$")
        own = SAME_LINEAR.replace("self.linear(x)", "(x[:, None] * self.linear.weight).sum(-1) + self.linear.bias")
        [job] = self.rows(self.submit(problem, own), "job")
        self.assertEqual((job["verdict"], job["cases"]), ("passed", "3 of 3"), job["message"])
        [job] = self.rows(self.submit(problem.replace("aten::addmm", "aten::admm"), own), "job")
        self.assertEqual((job["verdict"], job["fault"]), ("problem_invalid", "problem"))
        self.assertIn("FORBIDDEN names 'aten::admm', of which no call could be seen", job["message"])


if __name__ == "__main__":
    unittest.main()
