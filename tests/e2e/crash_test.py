"""Tests that each job gets exactly one result if the worker, the broker, or both are killed with SIGKILL during a run.

KQ_E2E_JOBS is the number of jobs; the default is 16.
"""

import os
import subprocess
import unittest
from collections import Counter

import kq

JOBS = int(os.environ.get("KQ_E2E_JOBS") or 16)


class Crash(kq.EndToEndTest):
    def setUp(self) -> None:
        super().setUp()
        self.url = f"ipc://{self.folder}/b"
        # Each job has a different source, so that no two are the same work. Every tenth is wrong.
        sources = {f"relu/{i:04}": f"# {i}\n{kq.WRONG if i % 10 == 9 else kq.RIGHT}" for i in range(JOBS)}
        self.labels = sorted(sources)
        self.jobs = kq.write_sweep(self.folder / "jobs", sources)

    # A short lease, so that the jobs of a killed worker are queued again within seconds instead of half a minute.
    def broker(self):
        return kq.program("kq-broker", "--bind", self.url, "--store", self.state / "store", "--lease", "3s")

    def worker(self):
        return kq.program("kq-worker", "--connect", self.url, "--state", self.state / "worker", "--devices", "cpu")

    def start_waiting(self) -> subprocess.Popen[str]:
        command = [str(kq.BIN / "kq"), "results", "r", "--wait", "--broker", self.url]
        return subprocess.Popen(
            command, env=kq.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def finished(self) -> list[dict[str, str]]:
        return [row for row in kq.dump("r", "--broker", self.url) if row["state"] == "finished"]

    def wait_for_share(self, share: float) -> None:
        wanted = f"{share:.0%} of {JOBS} jobs are finished"
        kq.wait_until(lambda: len(self.finished()) >= JOBS * share, wanted, kq.LIMIT_S)

    def test_each_job_has_exactly_one_result(self) -> None:
        waiter = None
        try:
            with self.broker() as broker:
                with self.worker() as worker:
                    self.assert_end(kq.kq("submit", self.jobs, "--run", "r", "--broker", self.url), 0)
                    # This submitter waits during all kills.
                    waiter = self.start_waiting()
                    self.wait_for_share(0.2)
                    worker.kill()
                    seen = {row["label"]: row for row in self.finished()}
                    broker.kill()
                    broker.wait(30)
            # Both have been killed and no job is lost. Next the broker alone is killed, twice, while its worker goes
            # on.
            with self.worker():
                for share in (0.4, 0.6):
                    with self.broker() as broker:
                        self.wait_for_share(share)
                        broker.kill()
                        broker.wait(30)
                with self.broker():
                    table, _ = waiter.communicate(timeout=kq.LIMIT_S)
                    self.assertEqual(waiter.returncode, 1, table)
                    # Submitting the same jobs again changes nothing.
                    again = kq.kq("submit", self.jobs, "--run", "r", "--broker", self.url, "--wait", "--exit-zero")
                    self.assert_end(again, 0)
                    self.assertIn(f"reused {JOBS}", again.stderr)
        finally:
            if waiter is not None:
                waiter.kill()
                waiter.wait()

        rows = kq.dump("r", "--store", self.state)
        self.assertEqual([row["label"] for row in rows], self.labels)
        self.assertEqual(len({row["job_id"] for row in rows}), JOBS)
        verdicts = Counter(row["verdict"] for row in rows)
        self.assertEqual(verdicts, Counter(passed=JOBS - JOBS // 10, wrong_answer=JOBS // 10))
        # A finished job is final: none of its figures has changed.
        for row in rows:
            if row["label"] in seen:
                self.assertEqual(row, seen[row["label"]])


if __name__ == "__main__":
    unittest.main()
