"""Runs every command of docs/user/backendbench.md on a CPU, and checks what BackendBench's own evaluation is known for:
operators that work in place, with out=, with several results, with a stream, with a fault.
"""

import json
import os
import re
import subprocess
import sys
import unittest

import kq

PAGE = kq.ROOT / "docs/user/backendbench.md"
KERNELS = {
    "relu__default": "def {}(x):\n    return x.clamp(min=0)\n",
    "add__Tensor": "def {}(a, b, *, alpha=1):\n    return torch.add(a, b, alpha=alpha)\n",
    "add___Tensor": "def {}(a, b, *, alpha=1):\n    a += b * alpha\n    return a\n",
    "mul___Tensor": "def {}(a, b):\n    return a.mul_(b + 1)\n",
    "add__out": "def {}(a, b, *, alpha=1, out):\n    return torch.add(a, b, alpha=alpha, out=out)\n",
    "topk__default": "def {}(x, k, dim=-1, largest=True, sorted=True):\n    return torch.topk(x, k, dim)\n",
    "sigmoid__default": "def {}(x):\n    torch.cuda.Stream()\n    return x.sigmoid()\n",
    "exp__default": "def {}(x):\n    return torch.exp(x) + 0.005\n",
    "abs__default": "import os\ndef {}(x):\n    os.kill(os.getpid(), 11)\n",
}
TRACE = """Operator: aten.relu.default
cnt: 5, ((T([64, 64], f32),), {})
cnt: 5, ((T([16, 16], bf16, [1, 16]),), {})
Operator: aten.add.Tensor
cnt: 1, ((T([8, 8], c64), T([8, 8], c64)), {'alpha': 2})
cnt: 0, ((T([8, 8], i64), 3), {})
Operator: aten.add_.Tensor
cnt: 1, ((T([8, 8], f32), T([8, 8], f32)), {})
Operator: aten.mul_.Tensor
cnt: 1, ((T([8, 8], f32), T([8, 8], f32)), {})
Operator: aten.add.out
cnt: 1, ((T([8, 8], f32), T([8, 8], f32)), {'out': T([8, 8], f32)})
Operator: aten.topk.default
cnt: 1, ((T([8, 50], f32), 5), {})
Operator: aten.sigmoid.default
cnt: 1, ((T([8, 50], f32),), {})
Operator: aten.exp.default
cnt: 1, ((T([8, 50], f32),), {})
Operator: aten.abs.default
cnt: 1, ((T([8, 50], f32),), {})
Operator: aten.floor.default
cnt: 1, ((T([8, 50], f32),), {})
"""


class BackendBench(kq.QueueTest):
    def setUp(self) -> None:
        super().setUp()
        for folder, text in KERNELS.items():
            path = self.folder / f"generated_kernels/{folder}/{folder}_implementation_v1.py"
            path.parent.mkdir(parents=True)
            path.write_text("import torch\n" + text.format(f"{folder}_kernel_impl"))
        (self.folder / "ops.txt").write_text(TRACE)
        self.env = kq.environment(
            PATH=f"{kq.BIN}:{os.path.dirname(sys.executable)}:{os.environ['PATH']}", PYTHONPATH=str(kq.ROOT / "python")
        )

    def run_command(self, *command: str, codes: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=kq.LIMIT_S, check=False
        )
        self.assertIn(done.returncode, codes, f"{command}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def sweep(self, *options: str) -> str:
        common = ("--device", "cpu", "--state", "state")
        return self.run_command("kq", "sweep", "generated_kernels", *options, *common, codes=(0, 1))

    def test_every_command_of_the_page_works_as_written(self) -> None:
        text = PAGE.read_text()
        for commands in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S):
            for command in commands.replace("python3", sys.executable).splitlines():
                self.run_command("bash", "-euc", command, codes=(0, 1) if command.startswith("kq sweep") else (0,))
        (program,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
        self.env["KQ_BROKER"] = self.url
        with self.broker(), self.worker():
            said = self.run_command(sys.executable, "-P", "-c", program)
        self.assertRegex(said, r"^1\.0 [0-9.]+ [01]\.0\nrelu\.default 1\.0 [0-9.]+ \[\{'op_name': 'relu\.default'")

    def test_each_call_is_judged_by_itself(self) -> None:
        said = self.sweep("--suite", "torchbench", "--trace", "ops.txt", "--run", "all", "--backendbench-tolerance")
        self.assertIn("has no kernel for floor.default, which suite torchbench calls", said)
        self.run_command(
            "kq", "dump", "--run", "all", "--format", "backendbench", "-o", "out", "--store", "state/store"
        )
        records = json.loads((self.folder / "out/full_results.json").read_text())
        right = {(one["op_name"], one["is_correct"]) for one in records if one["test_type"] == "correctness"}
        expected = {op: True for op in ("relu.default", "add.Tensor", "add_.Tensor", "add.out", "topk.default")}
        expected |= {"exp.default": True, "mul_.Tensor": False, "sigmoid.default": False, "abs.default": False}
        wrong = [one["error_msg"] for one in records if one["test_type"] == "correctness" and not one["is_correct"]]
        self.assertEqual(right, set(expected.items()), wrong)
        errors = {one["op_name"]: one["error_msg"] for one in records if one["error_msg"]}
        self.assertEqual(errors["sigmoid.default"], "Skipped: uses CUDA stream")
        self.assertIn("crashed", errors["abs.default"])
        self.assertEqual(len(records), 2 * 11)

    def test_kq_sees_what_the_tolerance_of_backendbench_hides(self) -> None:
        self.sweep("--suite", "torchbench", "--trace", "ops.txt", "--run", "exp", "--ops", "exp")
        said = self.run_command("kq", "results", "exp", "--store", "state/store", codes=(0, 1))
        self.assertIn("wrong_answer", said)


if __name__ == "__main__":
    sys.exit(unittest.main())
