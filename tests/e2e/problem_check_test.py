"""Tests kq problem check with small problems, with a real broker and a real worker on the CPU."""

import json
import subprocess
import unittest

import kq

HEAD = "import os\n\nimport torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return "
INPUTS = "\n\n\ndef get_inputs():\n    return [torch.randn(64, 64)]\n"
WORKLOADS = (
    "\n\n\nWORKLOADS = [{'n': 8}, {'n': 100, 'name': 'large'}]\n\n\ndef get_inputs(n):\n    return [torch.randn(n)]\n"
)

PROBLEMS = {
    "good": HEAD + "torch.relu(x) + 1" + WORKLOADS,
    "tiny": HEAD + "torch.relu(x) * 1e-6" + INPUTS,
    "constant": HEAD + "x * 0 + 0.5" + INPUTS,
    "random": HEAD + "x + os.urandom(1)[0]" + INPUTS,
    "no_model": HEAD.replace("Model", "Other", 1) + "x" + INPUTS,
    "fixed": HEAD + "torch.relu(x)" + "\n\n\nX = torch.randn(64)\n\n\ndef get_inputs():\n    return [X]\n",
    "nearly": HEAD + "x * (1 + 1e-6)" + INPUTS,
}


class ProblemCheck(kq.EndToEndTest):
    def check(self, *words: str) -> subprocess.CompletedProcess[str]:
        for name, text in PROBLEMS.items():
            (self.folder / f"{name}.py").write_text(text)
        named = {"KQ_BROKER": f"ipc://{self.folder}/nobody"}
        return kq.kq("problem", "check", *words, "--device", "cpu", "--state", self.state, **named)

    def path(self, name: str) -> str:
        return str(self.folder / f"{name}.py")

    def test_what_is_wrong_with_problems(self) -> None:
        done = self.check(*map(self.path, PROBLEMS), "--json")
        self.assert_end(done, 1)
        reports = dict(zip(PROBLEMS, map(json.loads, done.stdout.splitlines()), strict=True))
        found = {
            name: {(one["level"], one["name"]) for one in report["findings"] if one["name"] != "time"}
            for name, report in reports.items()
        }
        names = ("reference", "inputs", "zeros", "constant", "first_input", "state", "truth", "sizes")
        good = {("ok", name) for name in names}
        self.assertEqual(found["good"], good, reports["good"])
        tiny = good - {("ok", "zeros"), ("ok", "constant")} | {("wrong", "zeros"), ("wrong", "constant")}
        self.assertEqual(found["tiny"], tiny, reports["tiny"])
        self.assertEqual(found["constant"], {("wrong", "outputs")}, reports["constant"])
        self.assertEqual(found["random"], {("wrong", "reference")}, reports["random"])
        self.assertEqual(found["no_model"], {("wrong", "file")}, reports["no_model"])
        fixed = good - {("ok", "inputs"), ("ok", "constant")} | {("wrong", "inputs"), ("wrong", "constant")}
        self.assertEqual(found["fixed"], fixed, reports["fixed"])
        nearly = good - {("ok", "first_input")} | {("warning", "first_input")}
        self.assertEqual(found["nearly"], nearly, reports["nearly"])

        times = reports["good"]["workloads"]
        self.assertEqual([one["workload"] for one in times], ["n=8", "large"])
        self.assertTrue(all(one["median_us"] > 0 and one["speedup"] > 0 for one in times), times)
        [sizes] = [one["message"] for one in reports["good"]["findings"] if one["name"] == "sizes"]
        self.assertIn("the inputs have 400 B, the outputs 400 B, parameters and buffers 0 B", sizes)

        again = self.check(*map(self.path, PROBLEMS), "--json")
        self.assert_end(again, 1)
        self.assertEqual(again.stdout, done.stdout)
        self.assertIn("reused all ", again.stderr)
        # The references pass, and so do some kernels that compute nothing, but none of them is on a board.
        self.assert_end(kq.kq("leaderboard", "--store", self.state), 5)

        text = self.check(self.path("good"))
        self.assert_end(text, 0)
        self.assertIn("  ok       a kernel that returns zeros is wrong\n", text.stdout)

    def test_mistakes_start_nothing(self) -> None:
        for words, sentence in (
            ([self.path("absent")], "absent.py: No such file or directory"),
            ([], "no files are named"),
        ):
            done = self.check(*words)
            self.assert_end(done, 2)
            self.assertIn(sentence, done.stderr)
        self.assert_end(self.check(self.path("no_model")), 1)
        self.assertFalse(self.state.exists())


if __name__ == "__main__":
    unittest.main()
