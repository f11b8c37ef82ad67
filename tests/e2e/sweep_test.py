"""Tests kq sweep with a part of the example sweep: expected verdicts, one row per job, and no process left running.

KQ_EXAMPLES=all judges the whole example sweep, as scripts/demo does, which takes two minutes, and several times as long
beside other tests.
"""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

import kq

EXAMPLES = kq.ROOT / "examples/sweep"
# One job of each kind that ends within a second or two on any machine.
PART = (
    "relu/right_fast_torch",
    "relu/right_slow_torch",
    "relu/double_torch",
    "relu/flattened_torch",
    "relu/raises_in_forward_torch",
    "relu/segfault_torch",
    "relu/stream_object_torch",
    "relu/syntax_error_torch",
)

ALL_EXAMPLES_LIMIT_S = 900

SLOW = "import time\n" + kq.RIGHT.replace("return", "time.sleep(0.7)\n        return")
ASLEEP = "import time\n" + kq.RIGHT.replace("return", "time.sleep(1000)\n        return")


def part_of_examples(folder: Path) -> Path:
    """Writes the example sweep with only the jobs of PART, and their expected verdicts."""
    shutil.copytree(EXAMPLES, folder)
    lines = [json.loads(line) for line in (folder / "submissions.jsonl").read_text().splitlines()]
    chosen = [line for line in lines if line["id"] in PART]
    (folder / "submissions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in chosen))
    with (EXAMPLES / "expected.csv").open(newline="") as source:
        rows = [row for row in csv.DictReader(source) if row["job"] in PART]
    with (folder / "expected.csv").open("w", newline="") as sink:
        writer = csv.DictWriter(sink, ("job", "device", "verdict", "reason"), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    assert len(chosen) == len(PART), "PART names a job that the examples no longer have"
    return folder


class Sweep(kq.EndToEndTest):
    def sweep(self, path: Path, *words: str | Path, limit_s: float = kq.LIMIT_S) -> subprocess.CompletedProcess[str]:
        """Runs kq sweep. It must start its own broker without keys, whatever broker and key the environment names."""
        named = {
            "KQ_BROKER": f"ipc://{self.folder}/nobody",
            "KQ_KEY": str(self.folder / "no.key"),
            "KQ_KEYS": str(self.folder / "no-keys"),
        }
        command = ("sweep", path, "--run", "r", "--device", "cpu", "--state", self.state, *words)
        return kq.kq(*command, limit_s=limit_s, **named)

    def test_it_has_the_options_of_kq_submit_that_say_how_is_judged(self) -> None:
        head = "import torch\n\n\nclass {}(torch.nn.Module):\n    def forward(self, x):\n"
        head += "        return torch.relu(x) * {}\n"
        problem, new = self.folder / "problem.py", self.folder / "new.py"
        problem.write_text(head.format("Model", 1) + "\n\ndef get_inputs():\n    return [torch.randn(64)]\n")
        new.write_text(head.format("ModelNew", 1.25))
        wrong = self.sweep(new, "--problem", problem, "--rtol", "7")
        self.assert_end(wrong, 2)
        self.assertIn("kq-sweep: --rtol must be a number from 0 to 1, got '7'", wrong.stderr)
        wrong = self.sweep(new, "--problem", problem, "--csv", self.folder / "out.parquet")
        self.assert_end(wrong, 2)
        self.assertIn("out.parquet would be a file of Parquet", wrong.stderr)
        out = self.folder / "out.csv"
        options = ("--rtol", "0.5", "--atol", "0.125", "--truth-rms", "3", "--truth-max", "5", "--precision", "fp32")
        self.assert_end(self.sweep(new, "--problem", problem, "--csv", out, *options), 0)
        with out.open(newline="") as source:
            [row] = csv.DictReader(source)
        shown = [float(row[name]) for name in ("rtol", "atol", "truth_rms", "truth_max")]
        self.assertEqual((shown, row["precision"]), ([0.5, 0.125, 3, 5], "fp32"))

    def test_examples_end_as_expected_and_are_judged_once(self) -> None:
        part = part_of_examples(self.folder / "part")
        out = self.folder / "out.csv"
        first = self.sweep(part, "--expect", part / "expected.csv", "--csv", out)
        self.assert_end(first, 0)
        self.assertIn("every job ended as expected", first.stdout)
        self.assertIn(f"accepted {len(PART)}, reused 0", first.stderr)

        with out.open(newline="") as source:
            rows = list(csv.DictReader(source))
        self.assertEqual(sorted(row["label"] for row in rows), sorted(PART))
        self.assertEqual(len({row["job_id"] for row in rows}), len(PART))
        note = json.loads(Path(f"{out}.meta.json").read_text())
        self.assertEqual(
            (note["run"], note["rows"], note["bytes"], note["columns"]),
            ("r", len(PART), out.stat().st_size, list(rows[0])),
        )
        for row in rows:
            self.assertEqual(row["state"], "finished")
            self.assertEqual(row["median_us"] != "", row["verdict"] == "passed", row)
            self.assertEqual(row["message"] != "", row["verdict"] != "passed", row)
            if row["verdict"] == "passed":
                self.assertGreater(float(row["median_us"]), 0)
                self.assertAlmostEqual(float(row["speedup"]), float(row["reference_us"]) / float(row["median_us"]))

        # The store is intact after the sweep and has the same results.
        self.assertEqual(kq.dump("r", "--store", self.state), rows)

        lines = self.folder / "out.jsonl"
        again = self.sweep(part, "--csv", lines)
        self.assert_end(again, 1)
        self.assertEqual([json.loads(line)["label"] for line in lines.open()], [row["label"] for row in rows])
        self.assertEqual(json.loads(Path(f"{lines}.meta.json").read_text())["format"], "jsonl")
        self.assertIn(f"reused all {len(PART)} jobs", again.stderr)
        self.assertNotIn("worker", again.stderr, "a worker was started although no job needs one")
        self.assertEqual(kq.dump("r", "--store", self.state), rows)
        piped = self.sweep(part, "--csv", "-")
        self.assert_end(piped, 1)
        self.assertEqual(list(csv.DictReader(piped.stdout.splitlines())), rows)
        self.assertIn("geometric mean speedup", piped.stderr)
        both = self.sweep(part, "--csv", "-", "--json")
        self.assert_end(both, 2)
        (error,) = json.loads(both.stdout)["errors"]
        self.assertIn("--csv - and --json both write to standard output", error)

    @unittest.skipUnless(os.environ.get("KQ_EXAMPLES") == "all", "only KQ_EXAMPLES=all judges the whole example sweep")
    def test_all_examples_end_as_expected(self) -> None:
        done = self.sweep(EXAMPLES, "--expect", EXAMPLES / "expected.csv", limit_s=ALL_EXAMPLES_LIMIT_S)
        self.assert_end(done, 0)
        self.assertIn("every job ended as expected", done.stdout)
        told = re.search(r"without a GPU (\d+)\sof (\d+) pass", (kq.ROOT / "README.md").read_text())
        assert told, "README.md says how many kernels of scripts/demo pass"
        self.assertRegex(done.stdout, rf"(?m)^passed +{told[1]}$")
        self.assertIn(f"accepted {told[2]}, reused 0", done.stderr)

    def test_exit_codes_and_json_tell_how_the_jobs_ended(self) -> None:
        good = kq.write_sweep(self.folder / "good", {"relu/a": kq.RIGHT})
        mixed = kq.write_sweep(self.folder / "mixed", {"relu/a": kq.RIGHT, "relu/b": kq.WRONG})
        url = f"ipc://{self.folder}/b"
        self.assert_end(kq.kq("up", "-d", "--state", self.state, "--devices", "cpu", "--broker-url", url), 0)
        try:
            self.check_exit_codes(good, mixed, "--broker", url)
            self.check_a_spool("--broker", url)
            asleep = kq.write_sweep(self.folder / "asleep", {"relu/c": ASLEEP})
            done = kq.kq("sweep", asleep, "--run", "r2", "--device", "cpu", "--broker", url, "--timeout", "5")
            self.assert_end(done, 4)
            self.assertIn("gave up waiting, 1 of 1", done.stderr)
        finally:
            self.assert_end(kq.kq("down", "--state", self.state), 0)

    def check_exit_codes(self, good: Path, mixed: Path, *where: str) -> None:
        def sweep(path: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
            return kq.kq("sweep", path, "--run", "r", "--device", "cpu", *where, *words)

        self.assert_end(sweep(good), 0)
        done = sweep(mixed, "--json")
        self.assert_end(done, 1)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["verdicts"], {"passed": 1, "wrong_answer": 1})
        self.assertEqual((answer["accepted_n"], answer["reused_n"], answer["exit_code"]), (1, 1, 1))
        self.assert_end(sweep(mixed, "--exit-zero"), 0)

        (self.folder / "odd.py").write_bytes(b"\0")
        done = sweep(good, self.folder / "odd.py", "--keep-going", "--json")
        self.assert_end(done, 2)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["exit_code"], answer["left_out"], len(answer["errors"])), (2, 1, 1))
        done = sweep(self.folder / "odd.py", "--json")
        self.assert_end(done, 2)
        self.assertEqual(json.loads(done.stdout)["exit_code"], 2)

        right = self.folder / "right.csv"
        right.write_text("job,device,verdict,reason\nrelu/a,cpu,passed,\nrelu/b,cpu,wrong_answer,value\n")
        self.assert_end(sweep(mixed, "--expect", right), 0)
        wrong = self.folder / "wrong.csv"
        wrong.write_text("job,device,verdict,reason\nrelu/a,cpu,passed,\nrelu/b,cpu,passed,\n")
        done = sweep(mixed, "--expect", wrong)
        self.assert_end(done, 1)
        self.assertIn("relu/b cpu: expected passed, got wrong_answer (value)", done.stdout)

    def check_a_spool(self, *where: str) -> None:
        """Submits two runs to a spool, whose jobs are sent later by a call that waits for them."""
        spool = ("--spool", self.folder / "spool", "--wait", "--json")
        for name, run in (("good", "s1"), ("mixed", "s2")):
            nowhere = ("--broker", f"ipc://{self.folder}/nobody")
            done = kq.kq("submit", self.folder / name, "--run", run, "--device", "cpu", *nowhere, *spool)
            self.assert_end(done, 3)
        done = kq.kq("submit", *where, *spool)
        self.assert_end(done, 1)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["run"], answer["exit_code"]), ("s1", 1))
        self.assertEqual(
            [(job.get("run"), job["label"], job["verdict"]) for job in answer["jobs"]],
            [(None, "relu/a", "passed"), ("s2", "relu/a", "passed"), ("s2", "relu/b", "wrong_answer")],
        )

    def start_long_sweep(
        self, name: str, sources: dict[str, str], until: str, *words: str | Path
    ) -> subprocess.Popen[str]:
        jobs = kq.write_sweep(self.folder / name, sources)
        return self.sweep_until(until, jobs, "--run", name, "--device", "cpu", "--state", self.state, *words)

    def test_the_programs_of_a_killed_sweep_end_and_an_interrupt_stops_the_next_sweep(self) -> None:
        killed = self.start_long_sweep("killed", {"relu/first": f"# 1\n{kq.RIGHT}", "relu/c": SLOW}, "pass 1")
        killed.kill()
        killed.wait(60)
        # A second sweep continues in the same folder, and may have to wait for a slow job of the first.
        table = self.folder / "next.csv"
        sources = {"relu/a": kq.RIGHT, "relu/b": f"# b\n{ASLEEP}"}
        sweep = self.start_long_sweep("next", sources, "pass 1", "--csv", table)
        self.assertEqual(len(kq.processes_of(self.folder)), 2)
        os.kill(sweep.pid, signal.SIGINT)
        self.assertEqual(sweep.wait(60), 130)
        self.assertEqual(kq.processes_of(self.folder), [])
        rows = kq.dump("next", "--store", self.state)
        self.assertEqual({row["label"]: row["verdict"] for row in rows}, {"relu/a": "passed", "relu/b": ""})
        self.assertEqual(
            [(row["label"], row["verdict"]) for row in kq.rows_of(table.read_text())],
            [("relu/a", "passed"), ("relu/b", "")],
            "an interrupt leaves the rows that are known",
        )

    def test_the_error_of_a_worker_that_cannot_start_is_shown(self) -> None:
        good = kq.write_sweep(self.folder / "good", {"relu/a": kq.RIGHT})
        done = kq.kq("sweep", good, "--state", self.state, KQ_PYTHON="/nowhere/python")
        self.assert_end(done, 3)
        self.assertIn("kq-worker did not start", done.stderr)
        self.assertIn("/nowhere/python", done.stderr)


if __name__ == "__main__":
    unittest.main()
