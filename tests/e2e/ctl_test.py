"""A queue that people steer: kq-ctl, priorities, labels, cancelled kernels, dead letters, metrics, with the real programs."""

import json
import os
import shutil
import socket
import subprocess
import time
import unittest
import urllib.request
from contextlib import AbstractContextManager
from pathlib import Path

import kq

ENDLESS = kq.RIGHT.replace("return torch.relu(x)", "while True: pass")
SLOW_TO_LOAD = f"import time\ntime.sleep(45)\n{kq.RIGHT}"


class Ctl(kq.Story):
    def setUp(self) -> None:
        super().setUp()
        self.url = f"ipc://{self.folder}/b"

    def broker(self, *more: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
        return kq.program("kq-broker", "--bind", self.url, "--store", self.state / "store", *more)

    def worker(self, *more: str) -> AbstractContextManager[subprocess.Popen[bytes]]:
        return kq.program("kq-worker", "--connect", self.url, "--state", self.state / "w", "--devices", "cpu", *more)

    def ctl(self, *words: str, code: int | None = 0) -> str:
        """What it prints; `code` None allows "nothing" as well."""
        done = kq.kq("ctl", *words, KQ_BROKER=self.url)
        self.assert_end(done, done.returncode if code is None and done.returncode in (0, 5) else code or 0)
        return done.stdout

    def ctl_json(self, *words: str, code: int | None = 0) -> dict:
        return json.loads(self.ctl(*words, "--json", code=code))

    def submit(self, run: str, sources: dict[str, str], *more: str, **environment: str) -> list[str]:
        jobs = kq.write_sweep(self.folder / f"{run}-jobs", sources)
        done = kq.kq("submit", jobs, "--run", run, *more, KQ_BROKER=self.url, **environment)
        self.assert_end(done, 0)
        return done.stdout.split()

    def verdicts(self, run: str) -> dict[str, str]:
        return {row["label"]: row["verdict"] or row["state"] for row in kq.dump(run, "--broker", self.url)}

    def wait_for(self, run: str, wanted: dict[str, str]) -> None:
        kq.wait_until(lambda: self.verdicts(run) == wanted, f"{run} is {wanted}")

    def test_an_endless_kernel_is_cancelled_at_once_and_its_lane_serves_the_next(self) -> None:
        with self.broker(), self.worker():
            for source in (ENDLESS, SLOW_TO_LOAD):
                run = f"endless{len(source)}"
                first, second, third = self.submit(
                    run, {"a": source, "b": f"# {run}\n{kq.RIGHT}", "c": f"# c {run}\n{kq.RIGHT}"}
                )
                kq.wait_until(lambda: self.ctl_json("workers")["workers"][0]["running"] > 0, "it has its leases")
                time.sleep(1)  # well inside the endless call
                start = time.monotonic()
                # One that runs, and one that is built and waits behind it.
                self.ctl("cancel", first, third)
                self.wait_for(run, {"a": "cancelled", "b": "passed", "c": "cancelled"})
                self.assertLess(time.monotonic() - start, 6, "sooner than any limit of the judge")
                self.assertIn(f"job {first} is finished: cancelled", self.ctl("why", first))
                self.ctl("cancel", second, code=2)

    def test_a_waiting_job_says_why_and_runs_once_that_is_mended(self) -> None:
        with self.broker():
            (job,) = self.submit("r", {"a": kq.RIGHT}, "--require", "big")
            self.assertEqual(self.ctl("why", job), f"job {job} waits for a worker: none is connected\n")
            self.ctl("workers", code=5)
            with self.worker():
                kq.wait_until(lambda: self.ctl_json("workers", code=0)["workers"], "the worker is there")
                self.assertIn("labelled big", self.ctl("why", "--run", "r"))
                (gpu,) = self.submit("g", {"a": kq.RIGHT}, "--gpu", "NVIDIA H200")
                self.assertIn("waits for a NVIDIA H200: the only worker has none", self.ctl("why", gpu))
                self.assertIn("no worker", self.ctl("queue"))
            with self.worker("--label", "big", "--label", "lab"):
                self.wait_for("r", {"a": "passed"})
            (later,) = self.submit("later", {"a": f"# later\n{kq.RIGHT}"}, "--not-before", "+1h")
            self.assertIn("may not run before", self.ctl("why", later))
            self.ctl("cancel", "--run", "later")
            self.ctl("why", "999999", code=5)

    def test_pauses_and_drains_hold_until_they_are_undone_also_over_a_restart(self) -> None:
        with self.broker(), self.worker():
            kq.wait_until(lambda: self.ctl_json("workers", code=None)["workers"], "the worker is there")
            self.ctl("pause", "--submitter", "ann")
            (anns,) = self.submit("ann", {"a": f"# ann\n{kq.RIGHT}"}, KQ_SUBMITTER="ann")
            self.submit("bob", {"a": f"# bob\n{kq.RIGHT}"}, "--wait", KQ_SUBMITTER="bob")
            self.assertIn("is paused", self.ctl("why", anns))
        with self.broker(), self.worker():
            kq.wait_until(lambda: self.ctl_json("workers", code=None)["workers"], "the worker is there again")
            self.assertIn("is paused", self.ctl("why", anns))
            name = self.ctl_json("workers")["workers"][0]["worker"]
            self.ctl("drain", name, "--wait", "--timeout", "60")
            self.ctl("resume", "--submitter", "ann")
            self.assertIn("draining", self.ctl("why", anns))
            self.ctl("drain", name, "--undo")
            self.wait_for("ann", {"a": "passed"})

    def test_what_our_own_failures_ended_is_a_dead_letter_until_somebody_deals_with_it(self) -> None:
        with self.broker("--lease", "600ms"):
            (job,) = self.submit("r", {"a": SLOW_TO_LOAD})
            self.ctl("dead-letters", code=5)
            for _ in range(3):
                with self.worker() as worker:
                    kq.wait_until(lambda: self.ctl_json("jobs", "--state", "leased", code=None)["jobs"], "it runs")
                    worker.kill()
                kq.wait_until(lambda: not self.ctl_json("jobs", "--state", "leased", code=None)["jobs"], "its lease lapsed")
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

    def test_a_backup_of_a_working_broker_is_restored_and_goes_on(self) -> None:
        copy, new = str(self.folder / "copy"), str(self.folder / "new")
        with self.broker():
            with self.worker():
                self.submit("done", {"a": kq.RIGHT}, "--wait")
            self.submit("waits", {"a": f"# waits\n{kq.RIGHT}"})
            self.ctl("backup", copy)
            self.ctl("backup", copy, code=2)
            self.submit("too-late", {"a": f"# late\n{kq.RIGHT}"})
        self.assertIn("1 job queued, 0 leased, 1 finished", self.ctl("restore", copy, "--store", new))
        self.assertIn("2 jobs queued, 0 leased, 1 finished", self.ctl("verify", "--store", str(self.state / "store")))
        with kq.program("kq-broker", "--bind", self.url, "--store", new), self.worker():
            self.wait_for("waits", {"a": "passed"})
            self.assertEqual(self.verdicts("done"), {"a": "passed"})
        blob = max((self.folder / "copy").glob("*.sst"), key=lambda path: path.stat().st_size)
        blob.write_bytes(bytes(blob.stat().st_size))
        self.ctl("restore", copy, "--store", str(self.folder / "bad"), code=3)

    def test_a_full_queue_is_waited_out(self) -> None:
        sources = {f"{i}": f"# {i}\n{kq.RIGHT}" for i in range(12)}
        with self.broker("--submitter-jobs-max", "5"), self.worker():
            jobs = kq.write_sweep(self.folder / "jobs", sources)
            done = kq.kq("submit", jobs, "--run", "r", "--wait", "--timeout", "200", KQ_BROKER=self.url)
            self.assert_end(done, 0)
            self.assertIn("broker is busy", done.stderr)
            self.assertIn("accepted 12, reused 0, refused 0", done.stderr)
            refused = {m["labels"].get("reason"): m["value"] for m in self.ctl_json("stats")["metrics"] if m["name"] == "kq_jobs_refused_total"}
            self.assertGreater(refused["busy"], 0)
        with self.broker("--submitter-jobs-max", "5"):
            more = kq.write_sweep(self.folder / "more", {f"{i}": f"# more {i}\n{kq.RIGHT}" for i in range(7)})
            done = kq.kq("submit", more, "--run", "more", "--timeout", "2", KQ_BROKER=self.url)
            self.assert_end(done, 4)
            self.assertIn("accepted 5, reused 0, refused 0", done.stderr)
            self.assertIn("5 of 7 jobs were answered before", done.stderr)

    def test_metrics_are_served_and_the_log_is_json_off_a_terminal(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        log = self.folder / "broker.log"
        ready, tell = os.pipe()
        words = ["--bind", self.url, "--store", self.state / "store", "--metrics-port", port, "--ready-fd", tell]
        with log.open("wb") as stderr:
            broker = subprocess.Popen([str(kq.BIN / "kq-broker"), *map(str, words)], pass_fds=[tell], stderr=stderr, env=kq.environment())
        os.close(tell)
        try:
            Path(f"/dev/fd/{ready}").read_text()
            self.submit("r", {"a": kq.RIGHT})
            page = f"http://127.0.0.1:{port}/metrics"

            def scrape() -> str:
                with urllib.request.urlopen(page, timeout=10) as answer:
                    self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
                    return answer.read().decode()

            kq.wait_until(lambda: '\nkq_queue_jobs{state="queued"} 1\n' in scrape(), "the scrape shows the job")
            self.assertIn('kq_jobs_submitted_total{backend="torch"} 1\n', scrape())
            if shutil.which("promtool"):
                done = subprocess.run(["promtool", "check", "metrics"], input=scrape(), capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        finally:
            os.close(ready)
            broker.terminate()
            self.assertEqual(broker.wait(30), 0)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertTrue(any("listening on" in line["message"] for line in lines))
        self.assertEqual({line["program"] for line in lines}, {"kq-broker"})


if __name__ == "__main__":
    unittest.main()
