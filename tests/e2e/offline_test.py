"""Tests reading results without a worker or without a broker: unknown runs, unfinished runs, the schema of columns."""

import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import kq


class Offline(kq.EndToEndTest):
    """The run `waiting` has two jobs that no worker ever takes."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.shared = Path(tempfile.mkdtemp(prefix="kq-e2e.", dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.shared)
        url = f"ipc://{cls.shared}/b"
        jobs = kq.write_sweep(cls.shared / "jobs", {"relu/a": kq.RIGHT, "relu/b": kq.WRONG})
        with kq.program("kq-broker", "--bind", url, "--store", cls.shared / "state/store") as broker:
            cls.submitted = kq.kq("submit", jobs, "--run", "waiting", "--broker", url)
            cls.waited = kq.kq("results", "waiting", "--wait", "--timeout", "3", "--broker", url)
            waits = ("--run", "waiting", "--wait", "--timeout", "1", "--json", "--broker", url)
            cls.given_up = kq.kq("submit", jobs, *waits)
            cls.unknown = kq.kq("results", "unknown", "--wait", "--broker", url)
            cls.online = kq.dump("waiting", "--broker", url)
            cls.why = kq.kq("ctl", "why", "1", KQ_BROKER=url)
            cls.workers = kq.kq("ctl", "workers", KQ_BROKER=url)
            broker.terminate()
            cls.stopped = broker.wait(30)

    def setUp(self) -> None:
        super().setUp()
        self.state = self.shared / "state"
        self.assert_end(self.submitted, 0)
        self.assertEqual(self.stopped, 0)

    def test_a_run_that_is_not_finished_ends_with_code_4(self) -> None:
        self.assert_end(self.waited, 4)
        done = kq.kq("results", "waiting", "--store", self.state)
        self.assert_end(done, 4)
        self.assertIn("2 jobs: 2 queued", done.stdout)
        self.assertEqual([row["state"] for row in self.online], ["queued", "queued"])
        self.assertEqual(kq.dump("waiting", "--store", self.state), self.online)
        answer = json.loads(kq.kq("results", "waiting", "--json", "--store", self.state).stdout)
        self.assertEqual([row["label"] for row in answer["rows"]], ["relu/a", "relu/b"])
        self.assertIsNone(answer["rows"][0]["verdict"])

    def test_a_wait_that_is_over_is_an_error_of_the_object(self) -> None:
        self.assert_end(self.given_up, 4)
        told = json.loads(self.given_up.stdout)
        self.assertEqual((told["run"], told["exit_code"], len(told["jobs"])), ("waiting", 4, 2))
        (error,) = told["errors"]
        self.assertIn("--timeout is over; 2 accepted jobs stay with the broker; resume: kq results waiting", error)

    def test_a_pattern_that_matches_nothing_keeps_the_run(self) -> None:
        done = kq.kq("submit", f"{self.shared}/none/*.py", "--run", "r", "--json")
        self.assert_end(done, 2)
        self.assertEqual(json.loads(done.stdout)["run"], "r")

    def test_an_unknown_run_has_no_progress(self) -> None:
        self.assert_end(self.unknown, 5)
        self.assertIn("there is no run 'unknown'", self.unknown.stderr)
        self.assertEqual(self.unknown.stderr.count("\n"), 1, self.unknown.stderr)

    def test_labels_patterns_and_conditions_choose_jobs(self) -> None:
        for words, counts in (
            (("relu/*",), "2 jobs: 2 queued"),
            (("relu/b", "--where", "state=queued"), "1 job: 1 queued"),
            (("--where", "label=relu/a"), "1 job: 1 queued"),
        ):
            done = kq.kq("results", "waiting", *words, "--store", self.state)
            self.assert_end(done, 4)
            self.assertIn(counts, done.stdout)
        for words, sentence in (
            (("gelu/*",), "has no job 'gelu/*'"),
            (("--where", "state=finished"), "none of the 2 jobs meets --where"),
            (("--csv", "--where", "state=finished"), "none of the 2 jobs meets --where"),
        ):
            done = kq.kq("results", "waiting", *words, "--store", self.state)
            self.assert_end(done, 5)
            self.assertIn(sentence, done.stderr)
        self.assert_end(kq.kq("results", "waiting", "--where", "stat=x", "--store", self.state), 2)

    def test_a_column_of_a_tag_that_no_job_has_gets_a_note(self) -> None:
        done = kq.kq("dump", "waiting", "--columns", "label,tag.model", "--store", self.state)
        self.assert_end(done, 0)
        self.assertEqual(done.stderr, "kq-dump: no kernel has the tag 'model'; none has any tag\n")

    def test_a_report_names_its_file_and_refuses_another_ending(self) -> None:
        page = self.folder / "new" / "v0.2"
        done = kq.kq("report", "waiting", "-o", page, "--store", self.state)
        self.assert_end(done, 0)
        self.assertEqual(done.stdout, f"{page}/index.html\n")
        refused = kq.kq("report", "waiting", "-o", self.folder / "s1.txt", "--store", self.state)
        self.assert_end(refused, 2)
        self.assertIn("must end in .html or, for Markdown, .md, or in / for a folder", refused.stderr)
        self.assertFalse((self.folder / "s1.txt").exists())

    def test_a_report_goes_to_standard_output_or_to_markdown(self) -> None:
        place = ("--store", self.state)
        done = kq.kq("report", "waiting", "-o", "-", *place)
        self.assert_end(done, 0)
        self.assertTrue(done.stdout.startswith("<!"), done.stdout[:80])
        self.assertTrue(done.stdout.endswith("</html>\n"), done.stdout[-80:])
        self.assertFalse(Path("-").exists())
        page = self.folder / "s1.md"
        self.assert_end(kq.kq("report", "waiting", "-o", page, *place), 0)
        self.assertEqual(page.read_text(), kq.kq("report", "waiting", "--format", "markdown", *place).stdout)
        self.assert_end(kq.kq("report", "waiting", "--format", "html", "-o", page, *place), 2)

    def test_a_comparison_has_the_format_of_its_file(self) -> None:
        def begin(name: str) -> str:
            done = kq.kq("compare", "waiting", "waiting", "-o", self.folder / name, "--store", self.state)
            self.assert_end(done, 0)
            return (self.folder / name).read_text()[:2]

        self.assertEqual([begin("c.html"), begin("c.json")], ["<!", '{"'])
        self.assertEqual(begin("c.txt"), begin("v0.2"))
        for name in ("c.csv", "c.svg"):
            refused = kq.kq("compare", "waiting", "waiting", "-o", self.folder / name, "--store", self.state)
            self.assert_end(refused, 2)
            self.assertIn("must end in .html, .json or .txt", refused.stderr)
            self.assertFalse((self.folder / name).exists())

    def test_why_says_that_no_worker_is_connected(self) -> None:
        self.assert_end(self.why, 0)
        self.assertEqual(self.why.stdout, "job 1 waits for a worker: none is connected\n")
        self.assert_end(self.workers, 5)

    def test_every_format_has_every_row(self) -> None:
        done = kq.kq("dump", "--run", "waiting", "--format", "jsonl", "--store", self.state)
        self.assert_end(done, 0)
        objects = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([list(row) for row in objects], [list(row) for row in self.online])
        for column in ("label", "idempotency_key", "submitted_at"):
            self.assertEqual([row[column] for row in objects], [row[column] for row in self.online])

    def test_a_selection_without_rows_ends_with_code_5_and_a_header(self) -> None:
        done = kq.kq("dump", "--run", "waiting", "--where", "verdict=passed", "--store", self.state)
        self.assert_end(done, 5)
        self.assertTrue(done.stdout.startswith("schema,job_id,run,label,"), "the header is still written")
        self.assertIn("nothing matched: none of the 2 rows of the run meets --where and --since", done.stderr)

    def test_a_board_without_a_passed_job_is_empty(self) -> None:
        done = kq.kq("leaderboard", "--store", self.state)
        self.assert_end(done, 5)
        done = kq.kq("leaderboard", "--run", "waiting", "--format", "json", "--store", self.state)
        self.assert_end(done, 0)
        self.assertEqual((json.loads(done.stdout)["problems_n"], json.loads(done.stdout)["rows"]), (1, []))

    def test_an_output_file_replaces_a_partial_one(self) -> None:
        out = self.folder / "out.csv"
        (self.folder / ".out.csv.partial").write_text("of a dump that was killed")
        self.assert_end(kq.kq("dump", "--run", "waiting", "-o", out, "--store", self.state), 0)
        self.assertEqual(kq.rows_of(out.read_text()), self.online)
        self.assertEqual(sorted(path.name for path in self.folder.glob("*out.csv*")), ["out.csv", "out.csv.meta.json"])
        said = json.loads((self.folder / "out.csv.meta.json").read_text())
        self.assertEqual((said["rows"], said["bytes"], said["run"]), (len(self.online), out.stat().st_size, "waiting"))

    def test_an_unknown_run_ends_with_code_5(self) -> None:
        done = kq.kq("results", "gone", "--store", self.state)
        self.assert_end(done, 5)
        self.assertIn("there is no run 'gone'", done.stderr)
        done = kq.kq("leaderboard", "--run", "gone", "--store", self.state)
        self.assert_end(done, 5)
        done = kq.kq("dump", "--run", "gone", "--store", self.state)
        self.assert_end(done, 5)
        self.assertTrue(done.stdout.startswith("schema,job_id,run,label,"), "the header is still written")
        out = Path(self.state, "precious.csv")
        out.write_text("precious\n", encoding="utf-8")
        self.assert_end(kq.kq("dump", "--run", "gone", "--store", self.state, "-o", out), 5)
        self.assertEqual(out.read_text(encoding="utf-8"), "precious\n")

    def test_every_column_is_explained(self) -> None:
        explained = {line.split()[0] for line in kq.kq("dump", "--schema").stdout.splitlines()[1:]}
        header = kq.kq("dump", "--run", "gone", "--store", self.state).stdout.strip().split(",")
        self.assertEqual(explained, set(header))

    def test_a_closed_pipe_is_no_error(self) -> None:
        shell = f"set -o pipefail; {kq.BIN}/kq dump --schema | true"
        done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.stderr, "")

    def test_version_is_json(self) -> None:
        done = kq.kq("version", "--json")
        self.assert_end(done, 0)
        versions = json.loads(done.stdout)
        packages = {"cppzmq", "libzmq", "cpp-httplib", "spdlog", "rocksdb", "googletest", "cuda_toolkit", "compiler"}
        self.assertLessEqual(packages | {"kq", "protocol", "schema", "evaluator"}, versions.keys())
        for name, row in versions.items():
            # Only CUDA may be absent, and then the message says why.
            self.assertTrue(row["version"] or (name == "cuda_toolkit" and row["note"]), name)


if __name__ == "__main__":
    unittest.main()
