"""Tests how kq-rejudge reads published sets, of which these are small ones of this test, and how it explains."""

import csv
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import rejudge
from rejudge import BadInput, Published

REFERENCE = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x): return x\n"
TASK = "import torch\ndef get_inputs(n: int = 4):\n    return [torch.ones(n)]\n" + REFERENCE


def row(verdict: str = "passed", speedup: float | None = 2.0, **more: Any) -> dict[str, Any]:
    return {
        **{"state": "finished", "verdict": verdict, "speedup": speedup, "median_us": 10.0},
        **{"message": "", "device_model": "NVIDIA H100 80GB HBM3", **more},
    }


class Sets(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def test_lines_with_both_texts(self) -> None:
        lines = [
            {"level_id": 1, "task_id": 3, "ref_code": REFERENCE, "custom_code": "new", "score_default": 1.5},
            {"level_id": 1, "task_id": 4, "ref_code": REFERENCE, "custom_code": None, "score_default": 1.0},
        ]
        path = self.write("h100.json", "".join(json.dumps(line) + "\n" for line in lines))
        found = rejudge.read_cuda_l1(path)
        [one] = found.kernels
        self.assertEqual((one.label, one.speedup, one.gpu), ("level1/3", 1.5, "H100"))
        self.assertEqual(one.line, {"problem_source": REFERENCE, "source": "new"})
        self.assertEqual(found.notes, ["1 lines have no custom_code"])
        with self.assertRaisesRegex(BadInput, "h100.json:1 is no line of CUDA-L1"):
            rejudge.read_cuda_l1(self.write("h100.json", "{}\n"))

    def test_solutions_of_a_leaderboard(self) -> None:
        runs = {"has_solution": True, "run_id": "r1", "correct": True, "peak_fraction": 0.303}
        board = {"hardware": {"name": "NVIDIA H100"}, "models": [{"label": "m", "results": {"01_a": runs}}]}
        board["models"].append({"label": "n", "results": {"01_a": {**runs, "run_id": "r2"}}})
        self.write("benchmarks/hard/results/leaderboard.h100.json", json.dumps(board))
        problem = self.write("benchmarks/hard/problems-h100/01_a/reference.py", REFERENCE)
        self.write("public/runs/r1_solution.py.txt", "class Model: pass\n")
        found = rejudge.read_kernelbench_com(self.folder, "leaderboard.h100.json")
        [one] = found.kernels
        self.assertEqual((one.label, one.claim_text(), one.gpu), ("hard/01_a/r1", "30.3% of peak", "NVIDIA H100"))
        self.assertEqual(one.line["problem"], str(problem))
        self.assertEqual(found.notes, ["1 runs have no solution or no reference.py in the checkout"])
        with self.assertRaisesRegex(BadInput, "has no benchmarks"):
            rejudge.read_kernelbench_com(self.folder, "other.json")

    def test_kernels_with_pybind_get_a_problem_with_their_sizes(self) -> None:
        self.write("tasks/scale/func_forward.py", TASK)
        config = {"single_shared_configs": [{"n": 8}], "single_init_configs": [{}], "single_input_configs": [{}]}
        self.write("tasks/scale/config_forward.json", json.dumps(config))
        path = self.write("highlighted/results.csv", "")
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["task_name", "forward", "Kernel Name", "Correct", "Speedup", "Code"])
            rows.writerow(["scale", "True", "fast", "True", "2.5", "PYBIND11_MODULE()"])
            rows.writerow(["scale", "False", "back", "True", "2.5", ""])
        found = rejudge.read_robust_kbench(self.folder)
        [one] = found.kernels
        self.assertEqual((one.label, one.speedup), ("scale/fast", 2.5))
        self.assertIn("_task_inputs(**{'n': 8})", one.line["problem_source"])
        compile(one.line["problem_source"], "problem", "exec")
        self.assertEqual(len(found.notes), 1)

    def test_what_is_wrong_is_one_sentence_and_exit_code_2(self) -> None:
        program = [sys.executable, str(Path(__file__).with_name("rejudge.py"))]
        for words, said in (
            (["cuda-l1", "--from", "/nothing"], "--from /nothing does not exist"),
            (["robust-kbench", "--from", str(self.folder)], "has no highlighted/results.csv"),
        ):
            done = subprocess.run([*program, *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)


class Reasons(unittest.TestCase):
    claim = Published("a", {}, speedup=2.0, gpu="H100")

    def test_each_difference_has_a_reason(self) -> None:
        for published, found, reason in (
            (self.claim, row(), "agrees"),
            (self.claim, None, "the job is not finished"),
            (self.claim, row("rejected", None, message="no streams"), "no streams"),
            (self.claim, row("wrong_answer", None, message="x" * 200), "x" * 100 + "..."),
            (Published("a", {}, correct=False), row("wrong_answer", None), "agrees: wrong here, too"),
            (Published("a", {}, correct=False), row(), "right here: kq's inputs and tolerance are its own"),
            (Published("a", {}, claim="3% of peak"), row(), "right, as claimed"),
            (self.claim, row(passed_by="truth"), "agrees; right by float64, not by the reference"),
        ):
            self.assertEqual(rejudge.reason_of(published, found), reason)
        slower = rejudge.reason_of(self.claim, row(speedup=1.0, fell_back=True))
        self.assertTrue(slower.startswith("its extension does not compile"), slower)
        other = rejudge.reason_of(self.claim, row(speedup=1.0, device_model="NVIDIA A100"))
        self.assertTrue(other.startswith("claimed on H100, measured on NVIDIA A100"), other)

    def test_the_table_counts_what_agrees(self) -> None:
        text = rejudge.table_text([self.claim, Published("b", {}, speedup=9.0)], {"a": row()})
        self.assertIn("a       2.00x  passed   2.00x    10 us  agrees\n", text)
        self.assertTrue(text.endswith("2 kernels: 1 as claimed\n"), text)


if __name__ == "__main__":
    unittest.main()
