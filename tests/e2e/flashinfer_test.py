"""Judges solutions in the form of flashinfer-bench and SOL-ExecBench with a real broker and worker on the CPU."""

import unittest

import kq
from moving_in_test import write_trace_problem


class Flashinfer(kq.SubmitTest):
    def test_a_solution_is_judged_over_all_workloads(self) -> None:
        write_trace_problem(self.folder / "rmsnorm")
        done = kq.kq(
            "submit", self.folder / "rmsnorm", "--broker", self.url, "--run", "traces", "--wait", "--exit-zero"
        )
        self.assert_end(done, 0)
        jobs = {job["label"]: job for job in kq.dump("traces", "--broker", self.url)}
        self.assertEqual(
            {label: job["verdict"] for label, job in jobs.items()},
            dict.fromkeys(("rmsnorm/returns", "rmsnorm/writes"), "passed") | {"rmsnorm/wrong": "wrong_answer"},
        )
        self.assertEqual(jobs["rmsnorm/writes"]["cases"], "2 of 2")
        self.assertIn("workload w1: output 0", jobs["rmsnorm/wrong"]["message"])
        cases = kq.dump("traces", "--broker", self.url, "--level", "case", "--where", "label=rmsnorm/writes")
        self.assertEqual([case["case_id"] for case in cases], ["w1", "w5"])


if __name__ == "__main__":
    unittest.main()
