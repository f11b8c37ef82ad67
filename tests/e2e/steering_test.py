"""Tests how users and administrators control a queue with the real programs: cancel, pause, drain, quotas, labels."""

import json
import re
import signal
import subprocess
import time
import unittest

import kq

ENDLESS = kq.RIGHT.replace("return torch.relu(x)", "while True: pass")
SLOW_TO_LOAD = f"import time\ntime.sleep(58)\n{kq.RIGHT}"
RUNNING = re.compile(r"has been running for ([3-9]|\d\d) s")


class Steering(kq.SharedWorkerTest):
    """All tests use one store."""

    def setUp(self) -> None:
        super().setUp()
        self.store = self.shared / "store"

    def test_an_endless_kernel_is_cancelled_within_seconds_and_the_next_job_runs(self) -> None:
        with self.broker():
            self.wait_for_worker()
            for source in (ENDLESS, SLOW_TO_LOAD):
                run = f"endless{len(source)}"
                first, second, third = self.submit(
                    run, {"a": source, "b": f"# {run}\n{kq.RIGHT}", "c": f"# c {run}\n{kq.RIGHT}"}
                )
                kq.wait_until(lambda: self.ctl_json("workers")["workers"][0]["running"] > 0, "the worker has leases")
                time.sleep(0.4)  # usually the endless call is running by now; if not, the cancellation stops its start
                start = time.monotonic()
                # One job runs, and another is built and waits until the first ends.
                self.ctl("cancel", first, third)
                self.wait_for(run, {"a": "cancelled", "b": "passed", "c": "cancelled"})
                if source is SLOW_TO_LOAD:
                    self.assertLess(time.monotonic() - start, 55, "the lane does not wait for the end of the load")
                self.assertIn(f"job {first} is finished: cancelled", self.ctl("why", first))
                self.ctl("cancel", second, code=2)

    def test_a_wait_tells_how_each_job_ended_and_what_to_do_next(self) -> None:
        with self.broker():
            self.wait_for_worker()
            wrong = kq.RIGHT.replace("torch.relu(x)", "torch.relu(x) + 1")
            jobs = kq.write_sweep(self.folder / "jobs", {"good": f"# told\n{kq.RIGHT}", "bad": wrong})
            words = ("submit", jobs, "--run", "told", "--wait", "--author", "ada", "--tag", "model=m1")
            done = kq.kq(*words, KQ_BROKER=self.url)
            self.assert_end(done, 1)
            self.assertRegex(done.stderr, r"\nkq-submit: good: passed: ~?[\d.]+ .s ±.*, speedup [\d.]+x")
            self.assertRegex(done.stderr, r"\nkq-submit: bad: wrong_answer \(value\): output 0")
            self.assertIn("kq results told --failed shows why; kq show told bad shows", done.stderr)
            told = {job["label"]: job for job in json.loads(kq.kq(*words, "--json", KQ_BROKER=self.url).stdout)["jobs"]}
            self.assertGreater(told["good"]["median_us"], 0)
            self.assertIn("elements differ", told["bad"]["message"])
            rows = kq.dump("told", "--broker", self.url)
            self.assertEqual({(row["author"], row["tags"]) for row in rows}, {("ada", "model=m1")})

    def test_why_names_the_missing_label_or_device_and_the_job_runs_once_a_worker_has_it(self) -> None:
        with self.broker():
            self.wait_for_worker()
            self.submit("big", {"a": f"# big\n{kq.RIGHT}"}, "--require", "big")
            self.assertIn("labelled big", self.ctl("why", "--run", "big"))
            (gpu,) = self.submit("g", {"a": kq.RIGHT}, "--gpu", "NVIDIA H200")
            self.assertIn("waits for a NVIDIA H200: the only worker has none", self.ctl("why", gpu))
            self.assertIn("no worker", self.ctl("queue"))
            with self.worker("--label", "big", "--label", "lab"):
                self.wait_for("big", {"a": "passed"})
            (later,) = self.submit("later", {"a": f"# later\n{kq.RIGHT}"}, "--not-before", "+1h")
            self.assertIn("may not run before", self.ctl("why", later))
            self.ctl("cancel", "--run", "later")
            self.ctl("why", "999999", code=5)

    def test_pauses_and_drains_last_until_undone_even_after_a_restart(self) -> None:
        with self.broker():
            self.wait_for_worker()
            self.ctl("pause", "--submitter", "ann")
            (anns,) = self.submit("ann", {"a": f"# ann\n{kq.RIGHT}"}, KQ_SUBMITTER="ann")
            self.submit("bob", {"a": f"# bob\n{kq.RIGHT}"}, "--wait", KQ_SUBMITTER="bob")
            self.assertIn("is paused", self.ctl("why", anns))
            self.assertIn("is paused", self.given_up("ann"))
            self.assertIn("1 submitter is paused: ann", self.ctl("status"))
            self.assertEqual(self.ctl_json("status")["paused_submitters"], 1)
            self.assertEqual(self.ctl_json("status")["paused_submitter_names"], ["ann"])
            self.ctl("pause")
            self.assertIn("the queue is paused", self.ctl("status"))
            self.ctl("resume")
            self.assertNotIn("the queue is paused", self.ctl("status"))
        with self.broker():
            self.wait_for_worker()
            self.assertIn("is paused", self.ctl("why", anns))
            name = self.ctl_json("workers")["workers"][0]["worker"]
            self.ctl("drain", name, "--wait", "--timeout", "60")
            self.ctl("resume", "--submitter", "ann")
            self.assertIn("draining", self.ctl("why", anns))
            self.assertIn("is draining", self.given_up("ann"))
            self.ctl("drain", name, "--undo")
            self.wait_for("ann", {"a": "passed"})

    def test_a_worker_that_is_stopped_while_it_starts_ends_quietly(self) -> None:
        started = self.folder / "started"
        python = self.folder / "python"
        python.write_text(f"#!/bin/sh\ntouch {started}\nexec sleep 600\n")
        python.chmod(0o755)
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            started.unlink(missing_ok=True)
            command = [kq.BIN / "kq-worker", "--devices", "cpu", "--state", self.folder / "w", "--connect", self.url]
            with subprocess.Popen(
                command, env=kq.environment(KQ_PYTHON=str(python)), stderr=subprocess.PIPE, text=True
            ) as worker:
                while not started.exists():
                    self.assertIsNone(worker.poll())
                    time.sleep(0.01)
                worker.send_signal(number)
                _, log = worker.communicate(timeout=60)
            self.assertEqual(worker.returncode, 0, log)
            self.assertIn("the worker is stopped while it starts", log)
            self.assertNotIn("did not start", log)

    def given_up(self, run: str) -> str:
        """Waits for a run that does not end, and returns what is said meanwhile."""
        done = kq.kq("results", run, "--wait", "--timeout", "5", KQ_BROKER=self.url)
        self.assert_end(done, 4)
        return done.stderr

    def test_submitting_waits_while_the_queue_is_full(self) -> None:
        sources = {f"{i}": f"# {i}\n{kq.RIGHT}" for i in range(12)}
        with self.broker("--submitter-jobs-max", "5"):
            jobs = kq.write_sweep(self.folder / "jobs", sources)
            done = kq.kq("submit", jobs, "--run", "r", "--wait", "--timeout", "200", KQ_BROKER=self.url)
            self.assert_end(done, 0)
            self.assertIn("broker is busy", done.stderr)
            self.assertIn("accepted 12, reused 0, refused 0", done.stderr)
            refused = {
                m["labels"].get("reason"): m["value"]
                for m in self.ctl_json("stats")["metrics"]
                if m["name"] == "kq_jobs_refused_total"
            }
            self.assertGreater(refused["busy"], 0)
            more = kq.write_sweep(self.folder / "more", {f"{i}": f"# more {i}\n{kq.RIGHT}" for i in range(7)})
            done = kq.kq("submit", more, "--run", "more", "--require", "nobody", "--timeout", "5", KQ_BROKER=self.url)
            self.assert_end(done, 4)
            self.assertIn("accepted 5, reused 0, refused 0", done.stderr)
            self.assertIn("5 of 7 jobs were answered before", done.stderr)

    def test_an_idle_worker_ends_and_sigusr1_drains_however_often_it_arrives(self) -> None:
        slow = f"# slow\nimport time\n{kq.RIGHT}".replace("        return", "        time.sleep(1)\n        return")
        with self.broker():
            self.submit("idle", {"a": slow}, "--require", "own")
            with self.worker("--label", "own", "--idle-exit", "1") as idle:
                self.wait_for("idle", {"a": "passed"})
                self.assertEqual(idle.wait(30), 0)
            with self.worker("--label", "own") as drained:
                self.submit("drained", {"a": f"# drained\n{slow}"}, "--require", "own")
                # A draining worker hands a job back that is still being built. A build that takes a second is told.
                kq.wait_until(lambda: RUNNING.search(self.ctl("why", "--run", "drained")), "the job runs")
                for _ in range(3):
                    drained.send_signal(signal.SIGUSR1)
                    time.sleep(0.1)
                self.assertEqual(drained.wait(30), 0)
            self.wait_for("drained", {"a": "passed"})
            self.assertEqual([row["attempt"] for row in kq.dump("drained", "--broker", self.url)], ["1"])


if __name__ == "__main__":
    unittest.main()
