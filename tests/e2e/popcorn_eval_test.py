"""Runs problems in GPU MODE's form with a real broker and worker on the CPU: judged by kq, by their own program, and
both side by side; and the programs of kq.popcorn in the places of eval.py and popcorn-cli.
"""

import json
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import kq

PROBLEM = kq.ROOT / "examples/popcorn/vector_add"
RIGHT = (PROBLEM / "submission.py").read_text()
WRONG = RIGHT.replace("torch.add(a, b, out=out)", "torch.sub(a, b, out=out)")
# Right with the seeds of task.yml, which are below this one, and wrong with the secret ones.
KNOWS_SEEDS = """import inspect
import torch

def custom_kernel(data):
    frame = inspect.currentframe()
    while frame is not None and not isinstance(frame.f_locals.get("case"), dict):
        frame = frame.f_back
    a, b, out = data
    return torch.add(a, b, out=out) if frame is None or frame.f_locals["case"]["seed"] < 1000 else out.zero_()
"""


class Eval(kq.SubmitTest):
    def submit_codes(self, codes: dict[str, str], *words: str) -> dict[str, dict[str, str]]:
        folder = self.folder / "mine"
        folder.mkdir(exist_ok=True)
        for name, code in codes.items():
            (folder / f"{name}.py").write_text(code)
        done = kq.kq(
            *("submit", folder, "--problem", PROBLEM, "--run", "mine", "--broker", self.url, *words),
            *("--wait", "--exit-zero"),
        )
        self.assert_end(done, 0)
        return {row["label"].removeprefix("vector_add/"): row for row in kq.dump("mine", "--broker", self.url)}

    def test_both_judges_side_by_side(self) -> None:
        rows = self.submit_codes({"right": RIGHT, "wrong": WRONG}, "--judged-by", "both")
        verdicts = {label: row["verdict"] for label, row in rows.items()}
        self.assertEqual(
            verdicts,
            {
                "right": "passed",
                "right@self_reported": "passed",
                "wrong": "wrong_answer",
                "wrong@self_reported": "wrong_answer",
            },
            {label: row["message"] for label, row in rows.items()},
        )
        own, judged = rows["right@self_reported"], rows["right"]
        self.assertEqual((own["method"], own["backend"]), ("self_reported", "eval_program"))
        self.assertNotEqual(judged["method"], own["method"])
        self.assertNotEqual(own["problem_hash"], judged["problem_hash"])
        self.assertEqual(own["speedup"], "")
        self.assertIn("test.0 (size: 127): the largest difference is", rows["wrong@self_reported"]["message"])

        cases = kq.dump("mine", "--broker", self.url, "--level", "case", "--where", "label~right@")
        self.assertEqual(
            [(case["case_id"], case["case_weight"]) for case in cases],
            [
                ("test.0 (size: 127)", "0"),
                ("test.1 (size: 4096)", "0"),
                ("benchmark.0 (size: 4096)", "1"),
                ("benchmark.1 (size: 65536)", "1"),
            ],
        )
        times = [float(case["median_us"]) for case in cases[2:]]
        self.assertAlmostEqual(float(own["median_us"]), (times[0] * times[1]) ** 0.5, places=3)

        table = kq.kq("results", "mine", "--side-by-side", "--broker", self.url)
        self.assert_end(table, 1)  # because wrong did not pass
        self.assertIn("2 submissions judged in both ways: 0 with another verdict", table.stdout)
        boards = kq.kq("leaderboard", "--run", "mine", "--format", "json", "--broker", self.url)
        ranked = {row["problem"]: row["label"] for row in json.loads(boards.stdout)["rows"]}
        self.assertEqual(
            ranked,
            {
                "popcorn/vector_add": "vector_add/right",
                "popcorn/vector_add@self_reported": "vector_add/right@self_reported",
            },
        )

    def test_a_submission_that_knows_the_public_seeds_fails_its_secret_run(self) -> None:
        rows = self.submit_codes({"knows": KNOWS_SEEDS}, "--judged-by", "problem")
        knows = rows["knows@self_reported"]
        self.assertEqual((knows["verdict"], knows["reason"]), ("wrong_answer", "secret"), knows["message"])
        self.assertIn("the public runs did", knows["message"])

    def test_modes_are_selections_of_workloads(self) -> None:
        tested = self.submit_codes({"right": RIGHT}, "--judged-by", "problem", "--workloads", "test.*")
        self.assertEqual(tested["right@self_reported"]["cases"], "2 of 2")
        done = kq.kq(
            *("submit", PROBLEM, "--judged-by", "problem", "--workloads", "benchmark.*", "--profile", "ncu"),
            *("--run", "profile", "--broker", self.url, "--wait"),
        )
        self.assert_end(done, 0)
        [profiled] = kq.dump("profile", "--broker", self.url)
        self.assertEqual(profiled["label"], "vector_add/submission@self_reported")
        log = json.loads(
            kq.kq("dump", "--run", "profile", "--format", "jsonl", "--broker", self.url).stdout.splitlines()[0]
        )
        self.assertEqual((log["verdict"], log["profile_message"]), ("passed", "a profile needs a GPU"))


class Mistakes(kq.EndToEndTest):
    def test_only_such_problems_have_a_judge_of_their_own(self) -> None:
        (self.folder / "relu.py").write_text(kq.RELU)
        (self.folder / "new.py").write_text(kq.RIGHT)
        words = (self.folder / "new.py", "--problem", self.folder / "relu.py", "--judged-by", "both", "--dry-run")
        done = kq.kq("submit", *words)
        self.assert_end(done, 2)
        self.assertIn("--judged-by goes with problems in GPU MODE's form", done.stderr)

    def test_problems_that_are_not_served_say_why(self) -> None:
        shutil.copytree(PROBLEM.parent, self.folder / "problems")
        problem = self.folder / "problems/vector_add"
        task = (problem / "task.yml").read_text()
        several = "multi_gpu is true, so each test and benchmark needs world_size, a number of GPUs from 1 to 16"
        for changed, judge, why in (
            (task + "multi_gpu: true\n", "problem", several),
            (task.replace("lang: py", "lang: cu"), "kq", "kq submit --judged-by problem runs its own program"),
        ):
            (problem / "task.yml").write_text(changed)
            done = kq.kq(
                "submit", problem, "--judged-by", judge, "--run", "none", "--broker", "ipc:///tmp/kq-no-broker"
            )
            self.assert_end(done, 2)
            self.assertIn(why, done.stderr.splitlines()[0])


class Programs(kq.SubmitTest):
    def popcorn(self, *words: str | Path, folder: Path, **changes: str) -> subprocess.CompletedProcess[str]:
        env = kq.environment(KQ_BROKER=self.url, PYTHONPATH=str(kq.ROOT / "python"), KQ_PROGRAM=str(kq.BIN / "kq"))
        command = [sys.executable, "-m", "kq.popcorn", *map(str, words)]
        return subprocess.run(
            command, cwd=folder, env=env | changes, capture_output=True, text=True, timeout=kq.LIMIT_S, check=False
        )

    def test_eval_py(self) -> None:
        problem = self.folder / "problems/vector_add"
        subprocess.run(["cp", "-r", str(PROBLEM.parent), str(self.folder / "problems")], check=True)
        done = self.popcorn("eval", "benchmark", "benchmark.txt", folder=problem, POPCORN_FD="1")
        self.assert_end(done, 0)
        lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
        self.assertEqual((lines["benchmark-count"], lines["check"]), ("2", "pass"))
        self.assertEqual(lines["benchmark.1.spec"], "size: 65536")
        self.assertGreater(float(lines["benchmark.0.mean"]), 100)  # nanoseconds
        (problem / "submission.py").write_text(WRONG)
        done = self.popcorn("eval", "benchmark", "benchmark.txt", folder=problem, POPCORN_FD="1")
        self.assert_end(done, 112)
        self.assertIn("status: fail", done.stdout)
        self.assert_end(self.popcorn("eval", "often", folder=problem, POPCORN_FD="1"), 2)

    def test_popcorn_cli(self) -> None:
        (self.folder / "code.py").write_text(RIGHT)
        words = ("--gpu", "NVIDIA", "--leaderboard", "vector_add", "--mode", "leaderboard", "-o", "out.txt", "code.py")
        checkout = str(kq.ROOT / "examples/popcorn")
        done = self.popcorn("cli", "submit", *words, folder=self.folder, KQ_POPCORN=checkout)
        self.assert_end(done, 0)
        report = (self.folder / "out.txt").read_text()
        self.assertIn("✅ Leaderboard run successful", report)
        times = [line for line in report.splitlines() if "⏱" in line]
        self.assertEqual((len(times), all(line.endswith(" µs") for line in times)), (4, True))
        self.assertRegex(report, r"Geometric mean: [0-9.]+ µs")
        (self.folder / "code.py").write_text(WRONG)
        done = self.popcorn("cli", "submit", *words, folder=self.folder, KQ_POPCORN=checkout)
        self.assert_end(done, 1)
        self.assertIn("❌ Leaderboard run failed", done.stdout)

    def test_latencies_are_in_microseconds(self) -> None:
        script = (
            "import json, sys, kq.popcorn\n"
            "code = open(sys.argv[1] + '/submission.py').read()\n"
            "results = kq.popcorn.evaluate_code(sys.argv[1], [code, 'x = 1'])\n"
            "strict = kq.popcorn.evaluate_code(sys.argv[1], [code], strict=True)\n"
            "print(json.dumps([results, strict]))\n"
        )
        env = kq.environment(KQ_BROKER=self.url, PYTHONPATH=str(kq.ROOT / "python"), KQ_PROGRAM=str(kq.BIN / "kq"))
        done = subprocess.run(
            [sys.executable, "-c", script, str(PROBLEM)], env=env, capture_output=True, text=True, check=False
        )
        self.assert_end(done, 0)
        [right, wrong], [strict] = json.loads(done.stdout)
        self.assertEqual((right["correct"], wrong["correct"]), (True, False))
        self.assertNotIn("latency", wrong)
        self.assertAlmostEqual(strict["latency"] / right["latency"], 1000, delta=1)  # the same job, in nanoseconds

    def test_run_and_check(self) -> None:
        (self.folder / "ref.py").write_text(kq.RELU)
        (self.folder / "new.py").write_text(kq.RIGHT)
        words = (
            *("ref_origin=local", "ref_arch_src_path=ref.py", "kernel_src_path=new.py"),
            *("level=1", "problem_id=1", "timeout=10"),
        )
        done = self.popcorn("run_and_check", *words, folder=self.folder)
        self.assert_end(done, 0)
        self.assertIn(" runtime_stats={'mean':", done.stdout)
        self.assertGreater(float(done.stdout.split(" runtime_stats={'mean': ")[-1].split(",")[0]), 0)
        (self.folder / "new.py").write_text(kq.WRONG)
        self.assertNotIn("'mean'", self.popcorn("run_and_check", *words, folder=self.folder).stdout)


if __name__ == "__main__":
    unittest.main()
