"""Tests kq up and kq down: detached, in the foreground, twice in one folder, and with a program that dies."""

import os
import signal
import subprocess
import unittest
from pathlib import Path

import kq
from ports import free_port


class UpDown(kq.EndToEndTest):
    def setUp(self) -> None:
        super().setUp()
        self.url = f"ipc://{self.folder}/b"
        self.jobs = kq.write_sweep(self.folder / "jobs", {f"relu/{i}": f"# {i}\n{kq.RIGHT}" for i in range(4)})

    def up(self, *words: str) -> subprocess.CompletedProcess[str]:
        return kq.kq("up", "--state", self.state, "--devices", "cpu", "--broker-url", self.url, *words)

    def down(self) -> subprocess.CompletedProcess[str]:
        return kq.kq("down", "--state", self.state)

    def test_a_detached_stack_restarts_killed_programs_until_it_is_taken_down(self) -> None:
        done = self.up("-d")
        self.assert_end(done, 0)
        self.assertEqual(done.stdout.splitlines()[0], self.url)
        try:
            # kq up says that it is ready only when the broker answers and jobs are judged.
            submitted = kq.kq("submit", self.jobs, "--run", "r", "--broker", self.url, "--wait")
            self.assert_end(submitted, 0)
            second = self.up("-d")
            self.assert_end(second, 2)
            self.assertIn(f"its broker is --broker {self.url}", second.stderr)
            self.assert_end(kq.kq("results", "r", "--broker", self.url), 0)
            board = kq.kq("leaderboard", "--format", "csv", "--broker", self.url)
            self.assert_end(board, 0)
            self.assertEqual([row["problem"] for row in kq.rows_of(board.stdout)], ["relu"])
            self.check_restart()
        finally:
            stopped = self.down()
        self.assert_end(stopped, 0)
        self.assertEqual(kq.processes_of(self.folder), [])
        self.assertEqual(len(kq.dump("r", "--store", self.state)), 4)
        again = self.down()
        self.assert_end(again, 0)
        self.assertIn("already down", again.stderr)

    def check_restart(self) -> None:
        before = kq.processes_of(self.folder)
        self.assertEqual(len(before), 2)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        kq.wait_until(lambda: len(set(kq.processes_of(self.folder)) - set(before)) == 2, "both run again")
        more = kq.write_sweep(self.folder / "more", {f"relu/{i}": f"# more {i}\n{kq.RIGHT}" for i in range(4)})
        self.assert_end(kq.kq("submit", more, "--run", "more", "--broker", self.url, "--wait"), 0)

    def closed(self, closed: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs kq from a shell that closes a descriptor: `2>&-` closes standard error."""
        command = f'exec "$@" {closed}'
        return subprocess.run(
            ["sh", "-c", command, "sh", kq.BIN / "kq", *words],
            capture_output=True,
            text=True,
            timeout=kq.LIMIT_S,
            env=kq.environment(),
            check=False,
        )

    def test_programs_whose_standard_descriptors_are_closed_do_what_they_do_otherwise(self) -> None:
        words = ("--state", self.state, "--devices", "cpu", "--broker-url", self.url)
        self.assert_end(self.closed("2>&-", "up", "-d", *words), 0)
        try:
            broker = ("--broker", self.url)
            self.assert_end(self.closed("<&- >&- 2>&-", "submit", self.jobs, "--run", "r", "--wait", *broker), 3)
            self.assert_end(self.closed("2>&-", "submit", self.jobs, "--run", "r", "--wait", *broker), 0)
            for _ in range(5):
                self.assert_end(self.closed("2>&-", "results", "nosuch", *broker), 5)
                dumped = self.closed(">&-", "dump", "r", "--jsonl", *broker)
                self.assert_end(dumped, 3)
                self.assertIn("cannot write standard output: Bad file descriptor", dumped.stderr)
        finally:
            self.assert_end(self.down(), 0)
        self.assertEqual(kq.processes_of(self.folder), [])

    def test_programs_find_the_broker_of_a_stack_at_another_port(self) -> None:
        home = {"XDG_STATE_HOME": str(self.folder)}
        url = f"tcp://127.0.0.1:{free_port()}"
        self.assert_end(kq.kq("up", "-d", "--devices", "cpu", "--broker-url", url, **home), 0)
        try:
            submitted = kq.kq("submit", self.jobs, "--run", "r", "--require", "nowhere", **home)
            self.assert_end(submitted, 0)
            self.assertIn(f"the broker is {url}, which kq up or kq sweep runs in {self.folder}/kq", submitted.stderr)
            self.assert_end(kq.kq("ctl", "cancel", "--run", "r", **home), 0)
        finally:
            self.assert_end(kq.kq("down", **home), 0)

    def test_programs_find_a_stack_whose_state_folder_is_another_one(self) -> None:
        home = {"XDG_STATE_HOME": str(self.folder / "home")}
        done = kq.kq("up", "-d", "--state", self.state, "--devices", "cpu", "--broker-url", self.url, **home)
        self.assert_end(done, 0)
        self.assertIn(f"run in {self.state}; kq down --state {self.state} stops them", done.stderr)
        try:
            submitted = kq.kq("submit", self.jobs, "--run", "r", "--wait", **home)
            self.assert_end(submitted, 0)
            self.assertIn(f"the broker is {self.url}, which kq up or kq sweep runs in {self.state}", submitted.stderr)
            self.assert_end(kq.kq("ctl", "status", **home), 0)
            unknown = kq.kq("results", "nosuch", **home)
            self.assert_end(unknown, 5)
            self.assertIn(f"there is no run 'nosuch' at the broker {self.url}", unknown.stderr)
            elsewhere = kq.kq("down", **home)
            self.assertIn(
                f"the last kq up runs in {self.state}: kq down --state {self.state} stops it", elsewhere.stderr
            )
        finally:
            self.assert_end(kq.kq("down", "--state", self.state, **home), 0)
        stored = kq.kq("results", "r", **home)
        self.assert_end(stored, 0)
        self.assertIn(f"kq: the rows are those of the last kq up, in {self.state}/store", stored.stderr)
        gone = kq.kq("results", "nosuch", **home)
        self.assertIn(f"there is no run 'nosuch' in the store {self.state}/store", gone.stderr)

    def test_the_jobs_that_a_stopped_stack_leaves_are_counted_and_go_on_with_the_next(self) -> None:
        self.assert_end(self.up("-d"), 0)
        try:
            self.assert_end(kq.kq("ctl", "pause", "--broker", self.url), 0)
            self.assert_end(kq.kq("submit", self.jobs, "--run", "r", "--broker", self.url), 0)
        finally:
            stopped = self.down()
        self.assertIn(
            f"; 4 jobs wait: what is unfinished is kept and goes on with the next kq up --state {self.state}\n",
            stopped.stderr,
        )
        self.assert_end(self.up("-d"), 0)
        try:
            self.assert_end(kq.kq("ctl", "resume", "--broker", self.url), 0)
            self.assert_end(kq.kq("results", "r", "--wait", "--broker", self.url), 0)
        finally:
            stopped = self.down()
        self.assertNotIn("unfinished", stopped.stderr)

    def test_a_stack_that_cannot_start_is_an_error(self) -> None:
        done = kq.kq("up", "-d", "--state", self.state, "--devices", "tpu", "--broker-url", self.url)
        self.assert_end(done, 3)
        self.assertIn("kq-worker did not start", done.stderr)
        self.assertIn("'tpu' is none of auto, cpu, cuda", done.stderr)

    def test_a_gateway_cannot_have_a_port_of_the_broker(self) -> None:
        words = ("up", "-d", "--state", self.state, "--devices", "cpu", "--broker-url", "tcp://127.0.0.1:7000")
        done = kq.kq(*words, "--gateway", "127.0.0.1:7001")
        self.assert_end(done, 2)
        self.assertIn("the broker listens at port 7001 for its workers; name another port", done.stderr)

    def test_a_foreground_stack_ends_with_a_signal(self) -> None:
        command = [str(kq.BIN / "kq"), "up", "--state", str(self.state), "--devices", "cpu", "--broker-url", self.url]
        up = subprocess.Popen(
            command, env=kq.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.addCleanup(up.kill)
        self.assertEqual(up.stdout.readline(), self.url + "\n")
        up.stdout.close()
        os.kill(up.pid, signal.SIGTERM)
        self.assertEqual(up.wait(60), 0)
        self.assertEqual(kq.processes_of(self.folder), [])


if __name__ == "__main__":
    unittest.main()
