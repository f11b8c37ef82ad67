"""Tests what the child of an eval program reports, with small programs of this test; e2e.popcorn_eval runs one with a
process of its own for the submission.
"""

import contextlib
import io
import json
import shutil
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from harness.children.job import Job
from harness.eval_program import native_program, ncu_run, protocol
from harness.eval_program.eval_child import EvalRun, NoEvalProblem, problem_in
from harness.extensions.toolchain import find_toolchain

# A program that reads its cases as GPU MODE's do, and lets the submission decide what happens.
PROGRAM = """import os, sys
mode, path = sys.argv[1:]
out = os.fdopen(int(os.environ["POPCORN_FD"]), "w", buffering=1)
seed = os.environ.pop("POPCORN_SEED", None)
lines = open(path).read().splitlines()
import submission
kind = "test" if mode == "test" else "benchmark"
print(f"{kind}-count: {len(lines)}", file=out)
passed = True
for i, line in enumerate(lines):
    wrong = submission.run(mode, line, seed)
    print(f"{kind}.{i}.spec: {line}", file=out)
    if wrong:
        passed = False
        print(f"{kind}.{i}.status: fail", file=out)
        print(f"{kind}.{i}.error: {wrong}", file=out)
    elif mode == "test":
        print(f"{kind}.{i}.status: pass", file=out)
    elif mode == "profile":
        print(f"{kind}.{i}.report: Pz8*", file=out)
    else:
        for key, value in {"runs": 5, "mean": 100.0 * (i + 1), "std": 1, "err": 1, "best": 90, "worst": 120}.items():
            print(f"{kind}.{i}.{key}: {value}", file=out)
print("check:", "pass" if passed else "fail", file=out)
"""
RIGHT = "def run(mode, line, seed): pass\n"
NATIVE = r"""#include <cstdio>
#include <cstdlib>
#include "kernel.cuh"
int main(int, char** argv) {
  FILE* out = fdopen(std::atoi(std::getenv("POPCORN_FD")), "w");
  const bool is_test = argv[1][0] == 't';
  std::fprintf(out, is_test ? "test.0.status: pass\n" : "benchmark.0.mean: %d\nbenchmark.0.runs: 3\n", number());
  std::fprintf(out, "check: pass\n");
  return 0;
}
"""


def problem(**changes: Any) -> dict[str, Any]:
    return {
        "lang": "py",
        "config": {"main": "eval.py"},
        "files": {"eval.py": PROGRAM, "submission.py": None},
        "seed": None,
        "tests": ["n: 1; flag: True", "n: 2; flag: False"],
        "test_names": ["test.0 (n: 1)", "test.1 (n: 2)"],
        "benchmarks": ["n: 4", "n: 8"],
        "benchmark_names": ["benchmark.0 (n: 4)", "benchmark.1 (n: 8)"],
        "limits_s": {"test": 20, "benchmark": 20, "leaderboard": 20},
        "ranking_by": "geom",
    } | changes


class EvalProgram(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.log = io.StringIO()

    def report(self, submission: str, mode: str = "leaderboard", **changes: Any) -> dict[str, Any]:
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.redirect_stdout(self.log):
            return EvalRun(problem(**changes), submission, folder, "").report(mode)

    def test_a_right_submission_has_a_score_in_nanoseconds(self) -> None:
        report = self.report(RIGHT)
        self.assertEqual((report["verdict"], report["message"]), ("passed", ""))
        self.assertAlmostEqual(report["score_ns"], (100.0 * 200.0) ** 0.5)
        self.assertEqual(
            [case["name"] for case in report["cases"]], [*problem()["test_names"], *problem()["benchmark_names"]]
        )
        self.assertEqual([case["timed"] for case in report["cases"]], [False, False, True, True])
        self.assertIn("benchmark.1.mean: 200.0", self.log.getvalue())

    def test_modes_run_their_own_stages(self) -> None:
        self.assertEqual(len(self.report(RIGHT, "test")["cases"]), 2)
        self.assertEqual([case["mean"] for case in self.report(RIGHT, "benchmark")["cases"]], [100.0, 200.0])
        self.assertEqual(self.report(RIGHT, "benchmark", ranking_by="mean")["score_ns"], 150.0)
        self.assertEqual(self.report(RIGHT, "benchmark", ranking_by="last")["score_ns"], 200.0)

    def test_a_program_of_several_devices_is_told_their_number(self) -> None:
        tells = "import os\ndef run(mode, line, seed): return os.environ.get('POPCORN_GPUS', 'none')\n"
        for count, told in ((1, "none"), (2, "2")):
            run = EvalRun(problem(), tells, self.folder / str(count), "", count)
            with contextlib.redirect_stdout(self.log):
                self.assertEqual(run.report("test")["message"], f"test.0 (n: 1): {told}")

    def test_a_failed_case_is_named_and_ends_the_run(self) -> None:
        report = self.report("def run(mode, line, seed):\n    return 'off by 2' if 'n: 2' in line else None\n")
        self.assertEqual((report["verdict"], report["message"]), ("wrong_answer", "test.1 (n: 2): off by 2"))
        self.assertEqual([case["passed"] for case in report["cases"]], [True, False])
        self.assertNotIn("== benchmark", self.log.getvalue())

    def test_exit_code_0_without_a_check_is_no_pass(self) -> None:
        report = self.report("import os\ndef run(mode, line, seed): os._exit(0)\n")
        self.assertEqual(report["verdict"], "wrong_answer")
        self.assertIn("reports no pass", report["message"])

    def test_every_other_end_has_its_verdict(self) -> None:
        for body, verdict in (
            ("raise ValueError('no')", "runtime_error"),
            ("os.kill(os.getpid(), 11)", "crashed"),
            ("os._exit(110)", "gpu_fault"),
            ("os._exit(113)", "problem_invalid"),
        ):
            report = self.report(f"import os\ndef run(mode, line, seed):\n    {body}\n", "test")
            self.assertEqual(report["verdict"], verdict, report)
        self.assertIn("ValueError: no", self.report("raise ValueError('no')\n", "test")["message"])

    def test_a_limit_keeps_what_was_reported_until_then(self) -> None:
        slow = "import time\ndef run(mode, line, seed):\n    time.sleep(600 if 'n: 2' in line else 0)\n"
        report = self.report(slow, "test", limits_s={"test": 15, "benchmark": 15, "leaderboard": 15})
        self.assertEqual(report["verdict"], "timed_out")
        self.assertEqual([case["name"] for case in report["cases"]], ["test.0 (n: 1)"])

    def test_a_process_that_the_program_leaves_behind_is_killed(self) -> None:
        leaves = "import subprocess\np = subprocess.Popen(['sleep', '60'])\nopen('pid', 'w').write(str(p.pid))\n"
        self.report(leaves + RIGHT, "test")
        pid = int((self.folder / "run/pid").read_text())
        self.assertTrue(self.ends(Path(f"/proc/{pid}/stat")), "the process goes on")

    @staticmethod
    def ends(state: Path) -> bool:
        """Returns whether a killed process ends. On a busy machine it ends some time after the signal."""
        end_s = time.monotonic() + 10
        while time.monotonic() < end_s:
            try:
                if state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
            except (FileNotFoundError, ProcessLookupError):
                return True
            time.sleep(0.01)
        return False

    def test_more_lines_than_a_pipe_holds_do_not_block(self) -> None:
        text = "def run(mode, line, seed): return 'x' * 300_000\n"
        self.assertEqual(self.report(text, "test")["verdict"], "wrong_answer")

    def test_the_secret_run_decides_and_shows_nothing(self) -> None:
        told = "def run(mode, line, seed): return f'seed {seed}' if seed else None\n"
        report = self.report(told)
        self.assertEqual((report["verdict"], report["stage"]), ("wrong_answer", "secret"))
        self.assertIn("the public runs did", report["message"])
        self.assertNotIn("seed ", report["message"].replace("secret seeds", ""))
        self.assertNotIn("seed ", self.log.getvalue())

    def test_a_secret_seed_is_in_no_start_environment_and_differs_each_time(self) -> None:
        spies = (
            "import os\n"
            "def run(mode, line, seed):\n"
            "    if seed is None: return\n"
            "    open('seeds', 'a').write(seed + '\\n')\n"
            "    try: text = open(f'/proc/{os.getpid()}/environ', 'rb').read()\n"
            "    except OSError: return\n"
            "    if b'POPCORN_SEED' in text: open('leak', 'w').write('1')\n"
        )
        seeds = []
        for _ in range(2):
            self.assertEqual(self.report(spies)["verdict"], "passed")
            self.assertFalse((self.folder / "run/leak").exists())
            seeds += (self.folder / "run/seeds").read_text().split()
        self.assertGreater(len(set(seeds)), 1)

    def test_the_seed_of_the_problem_reaches_public_runs(self) -> None:
        wants = "def run(mode, line, seed): return None if seed else 'no seed'\n"
        self.assertEqual(self.report(wants, "test", seed="4242")["verdict"], "passed")
        self.assertEqual(self.report(wants, "test")["verdict"], "wrong_answer")

    def test_booleans_of_a_case_arrive_as_pythons_words(self) -> None:
        keeps = "def run(mode, line, seed): return None if 'flag: True' in line or 'flag: False' in line else line\n"
        self.assertEqual(self.report(keeps, "test")["verdict"], "passed")

    def test_a_native_program_is_compiled_and_run(self) -> None:
        if not find_toolchain().nvcc:
            self.skipTest("this machine has no nvcc")
        files = {"eval.cu": NATIVE, "kernel.cuh": None}
        native = {"lang": "cu", "config": {"sources": ["eval.cu"], "defines": {"N": "7"}}, "files": files}
        cases = {
            "tests": ["n: 1"],
            "test_names": ["test.0"],
            "benchmarks": ["n: 2"],
            "benchmark_names": ["benchmark.0"],
        }
        report = self.report("inline int number() { return N; }\n", **native, **cases)
        self.assertEqual((report["verdict"], round(report["score_ns"], 6)), ("passed", 7.0), report)
        with self.assertRaisesRegex(native_program.CompileFailed, "number"):
            self.report("inline int numbr() { return N; }\n", **native, **cases)


# A script in place of ncu, which needs a GPU. It runs the program and, if it may, writes a report.
NCU = """#!/bin/sh
case $1 in
  --version) printf 'NVIDIA (R) Nsight Compute\\nVersion 2025.3.1.0 (build 1) (public-release)\\n'; exit ;;
  --import) case $* in *raw*) cat {recorded} ;; *) cat {details} ;; esac; exit ;;
esac
echo "$@" >> {folder}/asked
while [ "$1" != --export ]; do
  [ "$1" = --log-file ] && log=$2
  shift
done
{ending}
shift 2
exec "$@"
"""
DETAILS = """[812] python3@127.0.0.1
  add(float *) (8, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Section: GPU Speed Of Light Throughput
    Table Name : GPU Throughput
    Metric Name   Metric Unit Metric Value
    Memory                  %        61.02

    Table Name : Something Else
    Hidden                  %         1.00
  sub(float *) (8, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
    Table Name : Warp State (All Cycles)
    Stall                   %         2.00

  mul(float *) (8, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0
"""
MARKED = PROGRAM.replace("import submission\n", "import submission  # in an nvtx range\n")
TELLS = """import os
def run(mode, line, seed): open("told", "a").write(f"{line}|{os.environ['POPCORN_NCU']}|{seed}\\n")
"""


class ProfileRuns(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = io.StringIO()

    def job(self, ending: str, device: str = "cuda", device_count: int = 1) -> Job:
        (self.folder / "details").write_text(DETAILS)
        recorded, details = Path(__file__).with_name("ncu_raw.csv"), self.folder / "details"
        ncu = self.folder / "ncu"
        ncu.write_text(NCU.format(folder=self.folder, recorded=recorded, details=details, ending=ending))
        ncu.chmod(0o755)
        order = {"role": "eval_program", "device": device, "profiler": str(ncu), "device_count": device_count}
        return Job.from_order(order, *[self.folder] * 3)

    def report(self, job: Job, program: str = MARKED, submission: str = TELLS, **changes: Any) -> dict[str, Any]:
        given = problem(files={"eval.py": program, "submission.py": None}, **changes)
        with contextlib.redirect_stdout(self.log):
            run = EvalRun(given, submission, self.folder / "run", "")
            return run.profile(ncu_run.profiler_for(given["files"], job))

    def told(self) -> list[str]:
        return (self.folder / "run/told").read_text().splitlines()

    def metrics(self) -> dict[str, Any]:
        return json.loads((self.folder / "metrics.json").read_text())

    def test_without_ncu_the_program_runs_once_for_each_benchmark_and_knows_it(self) -> None:
        report = self.report(self.job("", "cpu"), seed=7)
        self.assertEqual((report["verdict"], self.told()), ("passed", ["n: 4||7", "n: 8||7"]))
        self.assertEqual([case["name"] for case in report["cases"]], problem()["benchmark_names"])
        self.assertIn("benchmark.1.report\n???", self.log.getvalue())
        self.assertFalse((self.folder / "metrics.json").exists())

    def test_with_ncu_its_tables_are_the_report(self) -> None:
        report = self.report(self.job('echo report > "$2"'))
        self.assertEqual((report["verdict"], self.told()), ("passed", ["n: 4|1|None", "n: 8|1|None"]))
        self.assertIn("benchmark.1.report\nadd(float *)", self.log.getvalue())
        self.assertNotIn("???", self.log.getvalue())
        words = (self.folder / "asked").read_text().splitlines()[1]
        for part in ("--set full", "--nvtx --nvtx-include custom_kernel/", "--launch-count 10", "report.1.ncu-rep"):
            self.assertIn(part, words)
        self.assertTrue(words.endswith("eval.py profile kq_cases.txt"), words)
        self.assertTrue((self.folder / "report.1.ncu-rep").exists())
        told = self.metrics()
        self.assertEqual((told["tool"], told["message"], len(told["kernels"])), ("ncu 2025.3.1.0", "", 4))
        self.assertTrue(told["kernels"][2]["kernel"].startswith("benchmark.1 (n: 8): "), told)

    def test_the_tables_of_two_kernels_are_shown(self) -> None:
        shown = ncu_run.tables_in(DETAILS)
        for part in ("add(float *)", "61.02", "sub(float *)", "2.00", "further kernels are in the report"):
            self.assertIn(part, shown)
        for part in ("Hidden", "mul", "Section", "python3"):
            self.assertNotIn(part, shown)

    def test_a_report_that_ncu_does_not_write_is_the_programs_own(self) -> None:
        report = self.report(self.job("echo '==ERROR== ERR_NVGPUCTRPERM - no permission' > \"$log\""))
        self.assertEqual(report["verdict"], "passed")
        self.assertIn("benchmark.0.report\n???", self.log.getvalue())
        self.assertEqual(self.metrics()["message"], "benchmark.0 (n: 4): ERR_NVGPUCTRPERM - no permission")

    def test_a_program_without_a_range_runs_without_ncu(self) -> None:
        self.assertEqual(self.report(self.job("exit 9"), PROGRAM)["verdict"], "passed")
        self.assertEqual(self.told(), ["n: 4||None", "n: 8||None"])
        self.assertIn("marks no NVTX range", self.metrics()["message"])

    def test_a_program_on_several_gpus_runs_without_ncu(self) -> None:
        self.assertEqual(self.report(self.job("exit 9", device_count=2))["verdict"], "passed")
        self.assertEqual(self.told(), ["n: 4||None", "n: 8||None"])
        self.assertIn("wait for one another on several GPUs", self.metrics()["message"])

    def test_a_program_may_pass_without_a_report(self) -> None:
        silent = PROGRAM.replace('print(f"{kind}.{i}.report: Pz8*", file=out)', "pass")
        report = self.report(self.job("", "cpu"), silent)
        self.assertEqual([case["passed"] for case in report["cases"]], [True, True])

    def test_a_failed_benchmark_has_its_own_name(self) -> None:
        wrong = "def run(mode, line, seed): return 'off' if 'n: 8' in line else None\n"
        report = self.report(self.job("", "cpu"), submission=wrong)
        self.assertEqual((report["verdict"], report["message"]), ("wrong_answer", "benchmark.1 (n: 8): off"))
        self.assertEqual(len(report["cases"]), 1)

    def test_a_program_without_the_mode_is_named(self) -> None:
        report = self.report(self.job("", "cpu"), "import sys\nsys.exit(2)\n")
        self.assertEqual(
            (report["verdict"], report["message"]), ("problem_invalid", "the program does not know the mode profile")
        )


class Problems(unittest.TestCase):
    def test_another_form_is_refused(self) -> None:
        for text in ("import torch\n", "[]", '{"lang": "py"}'):
            with self.assertRaises(NoEvalProblem):
                problem_in(text)


class Protocol(unittest.TestCase):
    def test_a_later_line_of_a_key_counts_and_other_text_is_left_out(self) -> None:
        text = "a.b: 1\na.b: 2\nsome words: here\nc:\n"
        self.assertEqual(protocol.parse(text), {"a.b": "2", "c": ""})

    def test_reports_are_read_in_both_alphabets(self) -> None:
        stage = protocol.Stage("profile", values={"benchmark.0.report": "Pz8*", "benchmark.1.report": "Pz8/"})
        self.assertEqual(protocol.report_text(stage).splitlines()[1::2], ["???", "???"])

    def test_numbers_that_mean_nothing_are_none(self) -> None:
        for text in ("nan", "inf", "-1", "x", None):
            self.assertIsNone(protocol.number(text))
        self.assertEqual(protocol.number("1e3"), 1000.0)

    def test_a_score_of_many_large_times_does_not_overflow(self) -> None:
        self.assertAlmostEqual(protocol.score_ns([1e300] * 9, "geom") / 1e300, 1.0)


if __name__ == "__main__":
    unittest.main()
