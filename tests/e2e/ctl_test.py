"""Tests how an administrator manages a queue with the real programs: dead letters, backups, metrics."""

import json
import os
import shutil
import subprocess
import time
import unittest
import urllib.request
from pathlib import Path

import kq
from ports import free_port

SLOW_TO_LOAD = f"import time\ntime.sleep(45)\n{kq.RIGHT}"


class Ctl(kq.QueueTest):
    def figure(self, name: str) -> float:
        return next(one["value"] for one in self.ctl_json("stats")["metrics"] if one["name"] == name)

    def test_old_jobs_are_removed_and_the_store_is_intact_afterwards(self) -> None:
        with self.broker():
            old = self.submit("old", {"a": kq.RIGHT, "b": f"# b\n{kq.RIGHT}"})
            self.submit("young", {"c": f"# c\n{kq.RIGHT}"})
            self.ctl("cancel", *old)
        time.sleep(1)  # the job's retention time passes
        with self.broker("--keep-for", "1s") as broker:
            for figure in ("kq_jobs_removed_total", "kq_files_removed_total"):
                kq.wait_until(lambda name=figure: self.figure(name) == 2, f"{figure} is 2")
            self.assertEqual(self.verdicts("young"), {"c": "queued"})
            self.ctl("why", *old, code=5)
            (again,) = self.submit("again", {"a": kq.RIGHT})
            self.assertEqual(again, "4")
            broker.terminate()
            broker.wait(30)
        self.ctl("verify", "--store", str(self.state / "store"))

    def test_the_jobs_of_a_run_are_cancelled_also_where_other_jobs_have_their_rows(self) -> None:
        with self.broker():
            former = self.submit("r", {"a": f"# 1\n{kq.RIGHT}", "b": f"# 2\n{kq.RIGHT}"}, "--submitter", "ann")
            kept = self.submit("other", {"c": f"# 2\n{kq.RIGHT}"}, "--submitter", "bob")
            self.assertEqual(kept, former[1:])
            shutil.rmtree(self.folder / "r-jobs")
            rows = self.submit("r", {"a": f"# 3\n{kq.RIGHT}", "b": f"# 4\n{kq.RIGHT}"}, "--submitter", "ann")
            why = self.ctl("why", "--run", "r")
            self.assertEqual(why.count("its row in run r has another job now"), 2, why)
            cancelled = self.ctl_json("cancel", "--run", "r")["jobs"]
            self.assertEqual(sorted(job["id"] for job in cancelled), [int(job) for job in former + rows])
            self.assertEqual([job["id"] for job in self.ctl_json("jobs")["jobs"]], [int(job) for job in kept])
            self.assertEqual(self.ctl("why", "--run", "r"), "every job of run r is finished\n")
            self.ctl("cancel", "--run", "r", code=5)

    def test_metrics_are_served_and_a_log_that_is_no_terminal_is_json(self) -> None:
        port = free_port()
        log = self.folder / "broker.log"
        ready, tell = os.pipe()
        words = ["--bind", self.url, "--store", self.state / "store", "--metrics-port", port, "--ready-fd", tell]
        with log.open("wb") as stderr:
            broker = subprocess.Popen(
                [str(kq.BIN / "kq-broker"), *map(str, words)], pass_fds=[tell], stderr=stderr, env=kq.environment()
            )
        os.close(tell)
        try:
            Path(f"/dev/fd/{ready}").read_text()
            self.submit("r", {"a": kq.RIGHT})
            page = f"http://127.0.0.1:{port}/metrics"

            def scrape() -> str:
                with urllib.request.urlopen(page, timeout=60) as answer:
                    self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
                    return answer.read().decode()

            kq.wait_until(lambda: '\nkq_queue_jobs{state="queued"} 1\n' in scrape(), "the scrape shows the job")
            self.assertIn('kq_jobs_submitted_total{backend="torch"} 1\n', scrape())
            if shutil.which("promtool"):
                done = subprocess.run(
                    ["promtool", "check", "metrics"], input=scrape(), capture_output=True, text=True, check=False
                )
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        finally:
            os.close(ready)
            broker.terminate()
            self.assertEqual(broker.wait(30), 0)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertTrue(any("listening on" in line["message"] for line in lines))
        self.assertEqual({line["program"] for line in lines}, {"kq-broker"})


class CtlWithWorker(kq.SharedWorkerTest):
    def test_a_restored_backup_continues_with_its_queued_jobs(self) -> None:
        copy, new = str(self.folder / "copy"), str(self.folder / "new")
        self.back_up_and_restore(copy, new)
        blob = max((self.folder / "copy").glob("*.sst"), key=lambda path: path.stat().st_size)
        blob.write_bytes(bytes(blob.stat().st_size))
        self.ctl("restore", copy, "--store", str(self.folder / "bad"), code=3)

    def back_up_and_restore(self, copy: str, new: str) -> None:
        with self.broker():
            self.submit("done", {"a": kq.RIGHT}, "--wait")
            self.ctl("pause")
            self.submit("waits", {"a": f"# waits\n{kq.RIGHT}"})
            self.ctl("backup", copy)
            self.ctl("backup", copy, code=2)
            self.submit("too-late", {"a": f"# late\n{kq.RIGHT}"})
        self.assertIn("1 job queued, 0 leased, 1 finished", self.ctl("restore", copy, "--store", new))
        self.assertIn("2 jobs queued, 0 leased, 1 finished", self.ctl("verify", "--store", str(self.state / "store")))
        with kq.program("kq-broker", "--bind", self.url, "--store", new, "--lease", "3s"):
            self.ctl("resume")
            self.wait_for("waits", {"a": "passed"})
            self.assertEqual(self.verdicts("done"), {"a": "passed"})

    def leased(self) -> list[dict]:
        return self.ctl_json("jobs", "--state", "leased", code=None)["jobs"]

    def wait_for_lease(self) -> None:
        kq.wait_until(self.leased, "the job is leased")

    def kill_judge(self, worker: int) -> bool:
        """Kills the judge. Returns whether this ended the lease; a kill before the job has started does not."""
        kq.kill_children(worker, "kq-judge")
        return not self.leased()

    # The name makes this test the last one, because it kills the worker.
    def test_an_abandoned_job_is_a_dead_letter_until_it_is_retried_or_purged(self) -> None:
        # The lease is short, because the test waits for its end, but much longer than a worker may stall.
        with self.broker(lease="5s"):
            (job,) = self.submit("r", {"a": SLOW_TO_LOAD})
            self.ctl("dead-letters", code=5)
            self.assertEqual([run["run"] for run in self.ctl_json("runs")["runs"]], ["r"])
            # The job's judge is killed twice, and then the worker.
            for _ in range(2):
                self.wait_for_lease()
                kq.wait_until(lambda: self.kill_judge(self.shared_worker.pid), "the job is queued again")
            self.wait_for_lease()
            self.shared_worker.kill()
            kq.wait_until(lambda: not self.leased(), "the lease of the job has expired")
            self.wait_for("r", {"a": "abandoned"})
            (dead,) = self.ctl_json("dead-letters")["jobs"]
            self.assertEqual((dead["id"], dead["attempt"]), (int(job), 3))
            self.ctl("requeue", "--all")
            self.ctl("dead-letters", code=5)
            self.assertEqual(self.verdicts("r"), {"a": "queued"})
            self.ctl("cancel", job)
            self.ctl("retry", "--run", "r")
            self.assertEqual(self.verdicts("r"), {"a": "queued"})
            self.ctl("purge", "--all", code=5)


if __name__ == "__main__":
    unittest.main()
