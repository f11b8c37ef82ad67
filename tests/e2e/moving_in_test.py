"""Runs every recipe of docs/user/moving-in.md in a small KernelBench checkout.

The worker's results are invented (light_worker.cc).
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import kq

PAGE = kq.ROOT / "docs/user/moving-in.md"
SUBMISSION_SCHEMA = kq.ROOT / "share/kq.submission-1.schema.json"
MAKE_KERNELS = """import json
for turn in range(3):
    kernel = "import torch\\nclass ModelNew(torch.nn.Module):\\n    def forward(self, x):\\n"
    kernel += "        return torch.relu(x)  # %d\\n" % turn
    print(json.dumps({"problem": "KernelBench/level1/1_add.py", "source": kernel, "tags": {"turn": turn}}))
"""


def blocks() -> list[tuple[int, str]]:
    """Returns the line number and the commands of each code block with the language sh."""
    text = PAGE.read_text()
    return [
        (text[: found.start()].count("\n") + 1, found[1])
        for found in re.finditer(r"^```sh\n(.*?)^```$", text, re.M | re.S)
    ]


def write_trace_problem(folder: Path) -> None:
    """Writes a problem in the form of SOL-ExecBench, and three solutions: two right ones and a wrong one."""
    folder.mkdir()
    tensor = {"shape": ["rows", "width"], "dtype": "float32"}
    reference = "def run(x, weight, eps):\n    return x * (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt() * weight\n"
    (folder / "definition.json").write_text(
        json.dumps(
            {
                "name": "rmsnorm",
                "axes": {
                    "rows": {"type": "expr", "expression": "batch * 2"},
                    "batch": {"type": "var"},
                    "width": {"type": "const", "value": 16},
                },
                "custom_inputs_entrypoint": "make",
                "inputs": {
                    "x": tensor,
                    "weight": {"shape": ["width"], "dtype": "float32"},
                    "eps": {"shape": None, "dtype": "float32"},
                },
                "outputs": {"y": tensor},
                "reference": "import torch\n\n\ndef make(sizes, device):\n"
                "    return {'weight': torch.rand(sizes['width'], device=device) + 1}\n\n\n" + reference,
            }
        )
    )
    inputs = {"x": {"type": "random"}, "weight": {"type": "custom"}, "eps": {"type": "scalar", "value": 1e-6}}
    workloads = [{"uuid": f"w{batch}", "axes": {"batch": batch}, "inputs": inputs} for batch in (1, 5)]
    workloads[1]["tolerance"] = {"max_atol": 1e-4, "max_rtol": 1e-4, "required_matched_ratio": 1.0}
    (folder / "workload.jsonl").write_text("".join(json.dumps(workload) + "\n" for workload in workloads))
    into_outputs = reference.replace("eps):", "eps, y):").replace("return ", "y[:] = ")
    for name, source, style in (
        ("returns", reference, False),
        ("writes", into_outputs, True),
        ("wrong", into_outputs.replace("* weight", "+ weight"), True),
    ):
        spec = {"languages": ["pytorch"], "entry_point": "kernel.py::run", "destination_passing_style": style}
        solution = {"name": name, "definition": "rmsnorm", "author": "ada", "spec": spec}
        solution["sources"] = [{"path": "kernel.py", "content": source}]
        (folder / f"solution_{name}.json").write_text(json.dumps(solution))


class MovingIn(kq.QueueTest):
    def write_checkout(self) -> None:
        level = self.folder / "KernelBench/level1"
        level.mkdir(parents=True)
        names = {1: "1_add.py", 2: "2_relu_.py"}
        with (self.folder / "level_1.jsonl").open("w") as lines:
            for number, name in names.items():
                (level / name).write_text(kq.RELU)
                lines.write(
                    json.dumps({"code": kq.RELU, "level": 1, "name": name.removesuffix(".py"), "problem_id": number})
                    + "\n"
                )
        run = self.folder / "runs/mine"
        run.mkdir(parents=True)
        for number in names:
            for sample in range(2):
                (run / f"level_1_problem_{number}_sample_{sample}_kernel.py").write_text(
                    f"{kq.RIGHT}# {number} {sample}\n"
                )
        (self.folder / "kernels").mkdir()
        for name in ("a", "b"):
            (self.folder / f"kernels/{name}.py").write_text(
                f"# kq: problem=../KernelBench/level1/1_add.py\n{kq.RIGHT}# {name}\n"
            )
        (self.folder / "make_kernels.py").write_text(MAKE_KERNELS)
        write_trace_problem(self.folder / "rmsnorm")
        popcorn = kq.ROOT / "examples/popcorn"
        shutil.copytree(popcorn, self.folder / "reference-kernels/problems")
        shutil.copy(popcorn / "vector_add/submission.py", self.folder / "mine.py")
        (self.folder / "sols/gpumode").mkdir(parents=True)
        shutil.copy(popcorn / "vector_add/submission.py", self.folder / "sols/gpumode/0_vector_add.py")
        published = {"level_id": 1, "task_id": 19, "ref_code": kq.RELU, "custom_code": kq.RIGHT, "score_default": 1.0}
        (self.folder / "h100.json").write_text(json.dumps(published) + "\n")

    def run_block(self, line: int, commands: str) -> None:
        path = f"{kq.BIN}:{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
        env = kq.environment(KQ_BROKER=self.url, PATH=path, PYTHONPATH=str(kq.ROOT / "python"))
        done = subprocess.run(
            ["bash", "-euc", commands],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=kq.LIMIT_S,
            check=False,
        )
        # `kq results --failed` has an exit code that says whether something failed, and shows no row of a good run.
        self.assertEqual(done.returncode, 0, f"docs/user/moving-in.md:{line}: {done.stderr}{done.stdout}")
        self.outputs.append(done.stdout + done.stderr)

    def test_every_recipe_works_as_written(self) -> None:
        self.write_checkout()
        self.outputs: list[str] = []
        with self.broker():
            worker = subprocess.Popen(
                [str(kq.BIN / "light_worker"), self.url, "w"], env=kq.environment(), stderr=subprocess.DEVNULL
            )
            try:
                for line, commands in blocks():
                    self.run_block(line, commands)
            finally:
                worker.kill()
                worker.wait(30)
        self.assertGreater(len(self.outputs), 7)
        self.assertIn("is read as kernelbench_run: it holds level_1_problem_", self.outputs[0])
        results = json.loads((self.folder / "out/eval_results.json").read_text())
        self.assertEqual(
            {problem: [one["sample_id"] for one in samples] for problem, samples in results.items()},
            {"1": [0, 1], "2": [0, 1]},
        )
        self.assertEqual(len((self.folder / "verdicts.jsonl").read_text().splitlines()), 3)
        outcomes = [json.loads(line) for line in (self.folder / "outcomes.jsonl").read_text().splitlines()]
        self.assertEqual([(one["status_code"], one["body"]["status"]) for one in outcomes], [(200, "success")] * 2)
        events = [json.loads(line)["event"] for line in (self.folder / "events.jsonl").read_text().splitlines()]
        self.assertIn("sent", events)
        self.assertIn("4 jobs of run later wait in waiting", "".join(self.outputs))
        traces = (self.folder / "judged/traces/rmsnorm.jsonl").read_text().splitlines()
        self.assertEqual({json.loads(trace)["definition"] for trace in traces}, {"rmsnorm"})
        self.assertIn("✅ Leaderboard run successful", (self.folder / "report.txt").read_text())
        self.assertEqual(list((self.folder / "waiting").iterdir()), [])

    def interrupted(self, times: int, *more: str) -> tuple[int, str]:
        """Runs kq submit --wait without a worker, and interrupts it so many times while it waits."""
        words = [str(kq.BIN / "kq-submit"), "runs/mine", "--problems", ".", "--wait", "--progress", "json", *more]
        env = kq.environment(KQ_BROKER=self.url)
        process = subprocess.Popen(
            words, cwd=self.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        said = process.stderr.readline()
        while '"waiting"' not in said:
            said = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        for line in process.stderr:
            said += line
            if "^C again" in line and times > 1:
                process.send_signal(signal.SIGINT)
        process.stderr.close()
        with process.stdout:
            self.printed = process.stdout.read()
        return process.wait(30), said

    def test_a_second_interrupt_cancels_what_the_first_leaves_running(self) -> None:
        self.write_checkout()
        with self.broker():
            code, said = self.interrupted(1)
            self.assertEqual(code, 130, said)
            self.assertIn(
                "4 accepted jobs stay with the broker; resume: kq results mine --wait; "
                "cancel: kq ctl cancel --run mine",
                said,
            )
            self.assertEqual(set(self.verdicts("mine").values()), {"queued"})
            code, said = self.interrupted(2)
            self.assertEqual(code, 130, said)  # the jobs are reused, so none belongs to this call
            self.assertNotIn("cancelled", said)
            code, said = self.interrupted(2, "--force-rerun", "--json")
            self.assertEqual(code, 130, said)
            self.assertIn("cancelled 4 jobs", said)
            ends = [(job["state"], job["verdict"]) for job in json.loads(self.printed)["jobs"]]
            self.assertEqual(ends, [("finished", "cancelled")] * 4)
            self.assertEqual(set(self.verdicts("mine").values()), {"cancelled"})

    def test_a_line_with_every_key_of_the_schema_is_accepted(self) -> None:
        (self.folder / "problem.py").write_text(kq.RELU)
        schema = json.loads(SUBMISSION_SCHEMA.read_text())
        (example,) = schema["examples"]
        self.assertEqual(
            set(schema["properties"]) - set(example), {"path", "io", "metadata", "problem_source", "files"}
        )
        (self.folder / "all.jsonl").write_text(json.dumps(example) + "\n")
        self.assert_end(kq.kq("submit", self.folder / "all.jsonl", "--dry-run"), 0)
        # Every key is read, so a value of the wrong type is an error that names the key.
        for key in schema["properties"].keys() - {"io"}:  # io is only read for CUDA
            (self.folder / "all.jsonl").write_text(json.dumps(example | {key: [[]]}) + "\n")
            done = kq.kq("submit", self.folder / "all.jsonl", "--dry-run")
            self.assertEqual((key, done.returncode, key in done.stderr), (key, 2, True), done.stderr)


if __name__ == "__main__":
    unittest.main()
