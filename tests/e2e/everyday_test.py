"""Tests what people do every day with the real programs: sweep again, sweep beside another sweep, and look at results
without naming a broker or a store.
"""

import json
import os
import re
import signal
import subprocess
import unittest
from pathlib import Path

import kq

SLEEPS = kq.RIGHT.replace("import torch\n", "import time\n\nimport torch\n", 1).replace(
    "        return", "        time.sleep(SECONDS)\n        return"
)
TALKS = kq.RIGHT.replace("        return", '        print("hello from the kernel")\n        return')


def sleeping(seconds: float, mark: str) -> str:
    return f"# {mark}\n{SLEEPS.replace('SECONDS', str(seconds))}"


class Everyday(kq.EndToEndTest):
    def setUp(self) -> None:
        super().setUp()
        self.home = {"XDG_STATE_HOME": str(self.folder)}  # the default state folder is then FOLDER/kq
        self.state = self.folder / "kq"
        self.stacks: list[Path] = []  # the state folders of stacks that end with the test

    def tearDown(self) -> None:
        for state in self.stacks:
            kq.kq("down", "--state", state, **self.home)
        super().tearDown()

    def kq(self, *words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = kq.kq(*words, **self.home)
        self.assert_end(done, code)
        return done

    def start_sweep(self, jobs: Path, until: str) -> subprocess.Popen[str]:
        return self.sweep_until(until, jobs, "--device", "cpu", **self.home)

    def test_a_run_goes_before_the_rest_of_a_run_that_was_given_up(self) -> None:
        slow = {f"relu/{i}": sleeping(20, f"many {i}") for i in range(4)}
        many = self.start_sweep(kq.write_sweep(self.folder / "many", slow), "run many: accepted 4")
        os.kill(many.pid, signal.SIGINT)
        self.assertEqual(many.wait(60), 130)
        small = kq.write_sweep(self.folder / "small", {"relu/a": kq.RIGHT, "relu/b": f"# b\n{kq.RIGHT}"})
        done = self.kq("sweep", small, "--device", "cpu")
        self.assertIn("holds 4 unfinished jobs of run many; this run goes first", done.stderr)
        self.assertIn("kq ctl cancel --run many --broker ipc://", done.stderr)
        rows = kq.dump("many", "--store", self.state)
        self.assertLessEqual(sum(row["state"] == "finished" for row in rows), 1, "the other run was finished first")

    def test_the_rest_of_a_run_that_was_given_up_is_cancelled_without_a_broker(self) -> None:
        slow = {f"relu/{i}": sleeping(20, f"rest {i}") for i in range(3)}
        jobs = kq.write_sweep(self.folder / "rest", slow)
        for more, cancel in (([], []), (["--state", self.folder / "own"], ["--state", str(self.folder / "own")])):
            done = self.kq("sweep", jobs, "--device", "cpu", "--timeout", "0.1", *more, code=4)
            words = " ".join(map(str, ["kq sweep", jobs, "--device cpu --timeout 0.1", *more]))
            self.assertIn(f"not finished; to go on: {words}; to cancel the rest: ", done.stderr)
            self.assertIn(" ".join(["to cancel the rest: kq ctl cancel --run rest", *cancel]) + "\n", done.stderr)
            explained = self.kq("ctl", "why", "--run", "rest", *cancel).stdout
            self.assertIn("waits for a worker: none is connected", explained)
            queued = self.kq("ctl", "jobs", "--json", *("--store" if word == "--state" else word for word in cancel))
            self.assertEqual(len(json.loads(queued.stdout)["jobs"]), 3)
            cancelled = self.kq("ctl", "cancel", "--run", "rest", *cancel)
            self.assertEqual(cancelled.stdout, "cancelled 3 jobs\n")
            self.assertIn("no broker runs; started one in", cancelled.stderr)
            self.assertEqual(kq.processes_of(self.folder), [])
            self.kq("ctl", "cancel", "--run", "rest", *cancel, code=5)

    def test_a_forced_rerun_that_was_given_up_goes_on_with_its_own_jobs(self) -> None:
        jobs = kq.write_sweep(self.folder / "forced", {"relu/a": kq.RIGHT})
        self.kq("sweep", jobs, "--device", "cpu")
        done = self.kq("sweep", jobs, "--device", "cpu", "--force-rerun", "--timeout", "0.1", code=4)
        self.assertIn("to go on: kq up -d && kq results forced --wait; to cancel the rest: ", done.stderr)

    def up(self, state: Path) -> str:
        """Runs a stack in this state folder until the test ends, and returns the URL of its broker."""
        url = f"ipc://{state}-b"
        self.kq("up", "-d", "--state", state, "--devices", "cpu", "--broker-url", url)
        self.stacks.append(state)
        return url

    def printed(self, command: str, text: str) -> str:
        """Returns the printed command that begins like this, up to the end of its sentence."""
        found = re.search(re.escape(command) + r".*?(?=; | shows| writes|\n)", text)
        self.assertIsNotNone(found, f"{command} is not in\n{text}")
        return found.group()

    def type(self, command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Runs a command in a shell, as somebody who has copied it."""
        variables = kq.environment(**self.home)
        done = subprocess.run(
            command,
            shell=True,
            capture_output=True,
            text=True,
            timeout=kq.LIMIT_S,
            cwd=self.folder,
            env=variables | {"PATH": f"{kq.BIN}:{variables['PATH']}"},
            check=False,
        )
        self.assert_end(done, code)
        return done

    def test_the_commands_that_a_sweep_prints_find_its_run_while_another_stack_runs(self) -> None:
        self.up(self.folder / "up")
        jobs = kq.write_sweep(self.folder / "r", {"relu/a": kq.RIGHT, "relu/b": kq.WRONG})
        swept = self.kq("sweep", jobs, "--device", "cpu", code=1).stderr
        self.assertIn("relu/b: wrong_answer", self.type(self.printed("kq results r", swept), 1).stdout)
        show = self.printed("kq show r LABEL", swept).replace("LABEL", "relu/b")
        self.assertIn("relu/b: wrong_answer", self.type(show).stdout)
        self.type(self.printed("kq report r", swept))
        forced = self.kq("sweep", jobs, "--device", "cpu", "--force-rerun", "--timeout", "0.1", code=4).stderr
        self.stacks.append(self.state)
        go_on = self.printed("kq up -d", forced)
        self.assertIn("to cancel the rest: kq ctl cancel --run r --state ", forced)
        self.type(go_on, 1)
        self.kq("down", "--state", self.state)
        self.assertEqual({row["state"] for row in kq.dump("r", "--store", self.state)}, {"finished"})
        slow = kq.write_sweep(self.folder / "slow", {f"relu/{i}": sleeping(20, f"slow {i}") for i in range(2)})
        given_up = self.kq("sweep", slow, "--device", "cpu", "--timeout", "0.1", code=4).stderr
        cancelled = self.type(self.printed("kq ctl cancel", given_up))
        self.assertEqual(cancelled.stdout, "cancelled 2 jobs\n")

    def test_the_jobs_of_a_sweep_that_was_stopped_go_on_with_a_shared_broker(self) -> None:
        self.up(self.state)
        jobs = kq.write_sweep(self.folder / "r", {f"relu/{i}": sleeping(20, f"shared {i}") for i in range(3)})
        sweep = self.start_sweep(jobs, "run r: accepted 3")
        os.kill(sweep.pid, signal.SIGINT)
        said = sweep.stderr.read()
        self.assertEqual(sweep.wait(60), 130)
        self.assertIn("finished jobs are kept; unfinished jobs go on with the broker; to wait for them: ", said)
        self.assertEqual(self.printed("kq sweep", said), f"kq sweep {jobs} --device cpu")
        cancel = self.printed("kq ctl cancel", said)
        self.assertEqual(cancel, "kq ctl cancel --run r")
        self.assertEqual(self.type(cancel).stdout, "cancelled 3 jobs\n")

    def test_a_sweep_says_why_nothing_moves(self) -> None:
        jobs = kq.write_sweep(self.folder / "jobs", {"relu/a": kq.RIGHT})
        done = self.kq("sweep", jobs, "--gpu", "NVIDIA H200", "--timeout", "30", code=4)
        self.assertIn("waits for a NVIDIA H200: the only worker has none", done.stderr)

    def test_two_sweeps_share_a_state_folder(self) -> None:
        jobs = kq.write_sweep(self.folder / "first", {"relu/a": sleeping(2, "first")})
        first = self.start_sweep(jobs, "run first: accepted 1")
        second = kq.write_sweep(self.folder / "second", {f"relu/{i}": sleeping(1, f"second {i}") for i in range(4)})
        done = self.kq("sweep", second, "--device", "cpu")
        self.assertIn("this run shares it, and its worker", done.stderr)
        self.assertIn("the process whose broker this run shared has ended; started a broker", done.stderr)
        self.assertEqual(first.wait(60), 0)
        rows = kq.dump("second", "--store", self.state)
        self.assertEqual({row["verdict"] for row in rows}, {"passed"})
        (of_first,) = kq.dump("first", "--store", self.state)
        self.assertEqual({row["submitter"] for row in rows}, {of_first["submitter"]})
        self.assertNotIn("/second", of_first["submitter"])

    def test_readers_find_the_last_sweep_and_its_jobs(self) -> None:
        jobs = kq.write_sweep(self.folder / "r1", {"relu/a": TALKS, "relu/b": kq.WRONG})
        swept = self.kq("sweep", jobs, "--device", "cpu", code=1)
        self.assertIn("kq results r1 --failed shows why", swept.stderr)
        self.assertIn("relu/b: wrong_answer", self.kq("results", "r1", "--failed", code=1).stdout)
        self.assertIn("r1", self.kq("ctl", "runs").stdout)
        self.assertIn("relu", self.kq("leaderboard", "r1").stdout)
        self.assertIn("label", self.kq("dump", "r1", "--columns", "label,verdict").stdout)
        shown = self.kq("show", "r1", "relu/a").stdout
        for part in ("verdict     relu/a: passed", "  hello from the kernel", "class ModelNew", "--force-rerun"):
            self.assertIn(part, shown)
        number = kq.rows_of(self.kq("dump", "r1", "--columns", "job_id,label").stdout)[0]["job_id"]
        self.assertIn("hello from the kernel", self.kq("show", number, "--log").stdout)
        self.assertEqual(self.kq("show", "r1", "relu/b", "--source").stdout, kq.WRONG)
        self.assertEqual(json.loads(self.kq("show", "r1", "relu/a", "--json").stdout)["row"]["label"], "relu/a")
        self.assertIn("there is no run 'r2' in the store", self.kq("show", "r2", "x", code=5).stderr)
        missing = self.kq("results", "r1", "relu/a", "b", code=5)
        self.assertIn("relu/a", missing.stdout)
        self.assertIn("run 'r1' has no job 'b'; did you mean relu/b?", missing.stderr)
        # The sources of a job can be measured again.
        self.kq("show", "r1", "relu/a", "-o", self.folder / "again")
        again = self.kq("sweep", self.folder / "again", "--force-rerun", "--device", "cpu")
        self.assertIn("accepted 1, reused 0", again.stderr)
        self.assertIn("did you mean r1?", self.kq("results", "r1x", code=5).stderr)

    def test_rows_are_written_as_csv_and_by_the_ending_of_a_file(self) -> None:
        jobs = kq.write_sweep(self.folder / "r1", {"relu/a": kq.RIGHT, "relu/b": kq.WRONG})
        self.kq("sweep", jobs, "--device", "cpu", code=1)
        rows = kq.rows_of(self.kq("results", "r1", "--csv", code=1).stdout)
        self.assertEqual([row["label"] for row in rows], ["relu/a", "relu/b"])
        self.assertEqual(rows, kq.rows_of(self.kq("dump", "r1").stdout))
        (failed,) = kq.rows_of(self.kq("results", "r1", "--csv", "--failed", code=1).stdout)
        self.assertEqual(failed["verdict"], "wrong_answer")
        lines = self.folder / "r1.jsonl"
        self.kq("dump", "r1", "-o", lines)
        self.assertEqual([json.loads(line)["label"] for line in lines.read_text().splitlines()], ["relu/a", "relu/b"])
        refused = self.kq("dump", "r1", "-o", self.folder / "r1.parquet", code=2)
        self.assertIn("python -m kq export -o FILE.parquet", refused.stderr)
        self.assertFalse((self.folder / "r1.parquet").exists())

    def test_a_sweep_says_what_it_would_do_and_which_row_it_replaces(self) -> None:
        problem, other, kernel = (self.folder / name for name in ("relu.py", "other.py", "k.py"))
        problem.write_text(kq.RELU)
        other.write_text(f"# other\n{kq.RELU}")
        kernel.write_text(kq.RIGHT)
        words = ("sweep", kernel, problem, "--problem", problem, "--run", "r", "--device", "cpu")
        listed = self.kq(*words, "--dry-run")
        self.assertEqual([line.split("\t")[:3] for line in listed.stdout.splitlines()], [["k", "torch", "cpu"]])
        self.assertIn("relu.py is the problem and no kernel; it is left out", listed.stderr)
        self.assertFalse(self.state.exists(), "a broker was started")
        self.kq(*words)
        again = self.kq("sweep", kernel, "--problem", other, "--run", "r", "--device", "cpu")
        self.assertIn("this call replaces 1 row of another problem (relu), such as k; kq ctl why 1", again.stderr)

    def test_folders_are_searched_to_the_bottom_and_patterns_give_the_same_labels(self) -> None:
        problem = self.folder / "relu.py"
        problem.write_text(kq.RELU)
        for name in ("one/anna.py", "two/anna.py"):
            path = self.folder / "kernels" / name
            path.parent.mkdir(parents=True)
            path.write_text(f"# {name}\n{kq.RIGHT}")
        self.kq("sweep", self.folder / "kernels", "--problem", problem, "--run", "a", "--device", "cpu")
        pattern = self.folder / "kernels/*/*.py"
        done = self.kq("sweep", pattern, "--problem", problem, "--run", "b", "--device", "cpu")
        self.assertIn("reused all 2 jobs", done.stderr)
        rows = kq.rows_of(self.kq("dump", "a", "b", "--columns", "run,label").stdout)
        self.assertEqual(
            [(row["run"], row["label"]) for row in rows],
            [("a", "one/anna"), ("a", "two/anna"), ("b", "one/anna"), ("b", "two/anna")],
        )


class Asked(kq.QueueTest):
    def test_a_broker_sends_the_sources_of_a_job_and_the_rows_of_a_label(self) -> None:
        with self.broker():
            self.submit("asked", {"relu/a": kq.RIGHT, "relu/b": kq.WRONG})
            place = ("--broker", self.url)
            self.assertEqual(kq.kq("show", "asked", "relu/b", "--source", *place).stdout, kq.WRONG)
            self.assertEqual(kq.kq("results", "asked", "relu/b", "--source", *place).stdout, kq.WRONG)
            rows = kq.kq("results", "asked", "relu/b", *place)
            self.assert_end(rows, 4)  # no worker has run it
            self.assertIn("relu/b", rows.stdout)
            self.assertNotIn("relu/a", rows.stdout)
            again = self.folder / "again"
            self.assert_end(kq.kq("show", "asked", "relu/a", "-o", again, *place), 0)
            self.assertEqual(len((again / "submissions.jsonl").read_text().splitlines()), 1)


class Drained(kq.QueueTest):
    def test_a_drain_lasts_when_the_worker_is_restarted(self) -> None:
        with self.broker():
            with self.worker("--name", "lab3"):
                self.wait_for_worker()
                self.ctl("drain", "lab3")
            with self.worker("--name", "lab3"):
                self.wait_for_worker()
                (job,) = self.submit("after", {"relu/a": kq.RIGHT})
                self.assertRegex(self.ctl("why", job), "can run it (is|are) draining|is draining")
        words = [str(kq.BIN / "kq-worker"), "--devices", "cpu", "--devices", "cuda"]
        twice = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(twice.returncode, 2)
        self.assertIn("--devices is given 2 times, but takes one value", twice.stderr)


if __name__ == "__main__":
    unittest.main()
