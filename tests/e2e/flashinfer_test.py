"""Judges solutions in the form of flashinfer-bench and SOL-ExecBench with a real broker and worker on the CPU."""

import json
import struct
import unittest
from pathlib import Path

import kq
from moving_in_test import write_trace_problem


def add_files_and_folders(problem: Path) -> None:
    """Adds a workload with a tensor of a file and a bound on errors, and solutions with folders, one of them wrong."""
    data = struct.pack("<16f", *map(float, range(1, 17)))
    header = json.dumps({"w": {"dtype": "F32", "shape": [16], "data_offsets": [0, len(data)]}}).encode()
    (problem / "blob").mkdir()
    (problem / "blob/w.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
    weight = {"type": "safetensors", "path": "blob/w.safetensors", "tensor_key": "w"}
    inputs = {"x": {"type": "random"}, "weight": weight, "eps": {"type": "scalar", "value": 1e-6}}
    tolerance = {"max_atol": 1e-4, "max_rtol": 1e-4, "required_matched_ratio": 0.5, "max_error_cap": 0.5}
    workload = {"uuid": "file", "axes": {"batch": 3}, "inputs": inputs, "tolerance": tolerance}
    with (problem / "workload.jsonl").open("a") as lines:
        lines.write(json.dumps(workload) + "\n")
    norm = "def norm(x, eps):\n    return x * (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt()\n"
    run = "from pkg.inner.math import norm\n\n\ndef run(x, weight, eps):\n    y = norm(x, eps) * weight\n"
    far = "    y[0, 0] += 1 if weight[0] == 1 else 0\n"  # within the matched ratio of the workload "file"
    for name, text in (("folders", run + "    return y\n"), ("far", run + far + "    return y\n")):
        spec = {"languages": ["pytorch"], "entry_point": "pkg/kernel.py::run", "destination_passing_style": False}
        sources = [{"path": "pkg/kernel.py", "content": text}, {"path": "pkg/inner/math.py", "content": norm}]
        solution = {"name": name, "definition": "rmsnorm", "author": "ada", "spec": spec, "sources": sources}
        (problem / f"solution_{name}.json").write_text(json.dumps(solution))


class Flashinfer(kq.SubmitTest):
    def assert_rules(self, trace: dict) -> None:
        """Checks what the models of flashinfer-bench demand of a trace."""
        evaluation = trace["evaluation"]
        status = evaluation["status"]
        self.assertEqual("correctness" in evaluation, status in ("PASSED", "INCORRECT_NUMERICAL"), trace)
        self.assertEqual("performance" in evaluation, status == "PASSED", trace)
        self.assertTrue(evaluation["timestamp"] and evaluation["environment"]["hardware"], trace)
        self.assertIsInstance(evaluation["log"], str)
        for errors in filter(None, [evaluation.get("correctness"), evaluation.get("performance")]):
            for name, value in errors.items():
                self.assertFalse(float(value) < 0, f"{name} of {trace}")

    def test_files_folders_bounds_and_traces(self) -> None:
        problem = self.folder / "rmsnorm"
        write_trace_problem(problem)
        add_files_and_folders(problem)
        words = ("submit", problem, "--broker", self.url, "--run", "more", "--wait", "--exit-zero")
        self.assert_end(kq.kq(*words), 0)
        jobs = {job["label"].partition("/")[2]: job for job in kq.dump("more", "--broker", self.url)}
        verdicts = {name: job["verdict"] for name, job in jobs.items()}
        right = dict.fromkeys(("returns", "writes", "folders"), "passed")
        self.assertEqual(verdicts, right | {"wrong": "wrong_answer", "far": "wrong_answer"}, jobs)
        self.assertIn("max_error_cap is 0.5", jobs["far"]["message"])
        words = (
            "--format",
            "flashinfer-trace",
            "--trace-set",
            problem,
            "-o",
            self.folder / "out",
            "--broker",
            self.url,
        )
        self.assert_end(kq.kq("dump", "--run", "more", *words), 0)
        lines = (self.folder / "out/traces/rmsnorm.jsonl").read_text().splitlines()
        traces = [json.loads(line) for line in lines]
        statuses = {(one["solution"], one["workload"]["uuid"]): one["evaluation"]["status"] for one in traces}
        for uuid in ("w1", "w5", "file"):
            self.assertEqual(statuses["folders", uuid], "PASSED")
        self.assertEqual(statuses["far", "file"], "INCORRECT_NUMERICAL")
        for trace in traces:
            self.assert_rules(trace)
        given = [json.loads(line) for line in (problem / "workload.jsonl").read_text().splitlines()]
        self.assertIn(next(one["workload"] for one in traces if one["workload"]["uuid"] == "file"), given)

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
