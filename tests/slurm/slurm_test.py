"""Runs the fleet on a real Slurm cluster (cluster.py), breaks it in every way that clusters break, and checks each job.

KQ_SLURM_JOBS is the number of jobs of the large test (default 100). The test is skipped where Slurm is not installed or
the caller is not root.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import cluster
import kq

NODES = 3
# Slurm starts a requeued job after two minutes, because messages about its first start may still arrive, which end its
# second one. Those of a slurmd that was started again on this machine arrive within three seconds.
STALE_MESSAGES_S = 15
JOBS = int(os.environ.get("KQ_SLURM_JOBS") or 100)
LIMIT_S = 60 + JOBS  # of each wait; three nodes end about 1.2 jobs a second

# The jobs mostly wait, so that three workers share the processors of a small machine.
SLOW = kq.RIGHT.replace("import torch\n", "import time\n\nimport torch\n", 1).replace(
    "        return", "        time.sleep(0.3)\n        return"
)


def is_alive(job: str) -> bool:
    """Returns whether the worker of a Slurm job runs, which has the label slurm-JOB. The broker may not miss it yet."""
    for cmdline in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = cmdline.read_bytes().split(b"\0")
            if words[0].endswith(b"kq-worker") and f"slurm-{job}".encode() in words:
                return True
    return False


class ClusterTest(kq.QueueTest):
    """Each test has a queue and a cluster of its own."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = cluster.Cluster(self.folder, NODES)
        self.addCleanup(self.cluster.close)
        self.cluster.start()
        self.fleet: subprocess.Popen[bytes] | None = None
        self.fleet_log = self.folder / "fleet.log"

    def tearDown(self) -> None:
        self.stop_fleet()
        self.cluster.close()
        super().tearDown()

    def environment(self, **changes: str) -> dict[str, str]:
        settings = {"KQ_STATE": str(self.folder / "w"), "KQ_DEVICES": "cpu", "SLURM_CONF": f"{self.folder}/slurm.conf"}
        settings |= {"PATH": self.cluster.environment["PATH"], "KQ_BROKER": self.url}
        return kq.environment(**(settings | changes))

    def fleet_words(self, *more: str) -> list[str]:
        output = f"--sbatch=--output={self.folder}/job-%j.log"
        return [str(kq.BIN / "kq"), "fleet", "slurm", output, *more]

    def start_fleet(self, *more: str) -> None:
        with self.fleet_log.open("ab") as log:
            words = self.fleet_words("--max", str(NODES), "--gpu", "fake", "--jobs-per-device", "5", *more)
            self.fleet = subprocess.Popen(
                words, env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
            )

    def stop_fleet(self) -> None:
        if self.fleet is not None:
            self.fleet.kill()
            self.fleet.wait(30)
            self.fleet = None

    def one_round(self, *more: str, code: int = 0, **changes: str) -> str:
        done = subprocess.run(
            self.fleet_words("--once", *more),
            env=self.environment(**changes),
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            timeout=60,
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def metric(self, name: str) -> int:
        return sum(int(one["value"]) for one in self.ctl_json("stats")["metrics"] if one["name"] == name)

    def logs(self) -> str:
        """Returns the output of the fleet and of all Slurm jobs."""
        return "".join(
            f"--- {log.name}\n{log.read_text(errors='replace')[-6000:]}" for log in self.folder.glob("*.log")
        )

    def wait(self, condition, what: str, limit_s: float = LIMIT_S) -> None:
        try:
            kq.wait_until(condition, what, limit_s)
        except AssertionError as failed:
            raise AssertionError(f"{failed}\n{self.cluster.jobs()}\n{self.logs()}") from None


@unittest.skipIf(cluster.missing(), cluster.missing())
class FailureTest(ClusterTest):
    def workers(self) -> dict[str, tuple[str, int]]:
        """Returns the node and the number of jobs of each connected worker whose Slurm job runs, by Slurm job."""
        running = {job: node for job, (state, node) in self.cluster.jobs().items() if state == "RUNNING"}
        return {
            job: (running[job], worker["running"])
            for worker in self.ctl_json("workers", code=None)["workers"]
            for job in (label.removeprefix("slurm-") for label in worker["labels"])
            if job in running and is_alive(job)
        }

    def hosts(self) -> set[str]:
        """Returns the nodes whose workers the broker lists."""
        return {worker["worker"].split(":")[0] for worker in self.ctl_json("workers", code=None)["workers"]}

    def busy_worker(self) -> tuple[str, str]:
        """Waits until a worker has jobs, and returns its Slurm job and its node."""
        found = []

        def is_found() -> bool:
            found[:] = [(job, node) for job, (node, job_count) in self.workers().items() if job_count > 0]
            return bool(found)

        self.wait(is_found, "a worker is busy")
        return found[0]

    def test_the_fleet_follows_the_queue_and_loses_nothing(self) -> None:
        broker = self.broker()
        with broker as process:
            sources = {f"job/{i:04}": f"# {i}\n{SLOW}" for i in range(JOBS)}
            numbers = [int(number) for number in self.submit("all", sources)]
            self.start_fleet("--idle", "2", "--every", "0.5")
            for _ in range(1 + JOBS // 200):
                self.wait_for_all_workers()
                self.break_everything()
            self.wait(lambda: self.metric("kq_jobs_finished_total") == JOBS, "every job is finished")
            retried = self.metric("kq_jobs_retried_total")
            self.wait(lambda: not self.cluster.jobs(), "no worker is left")
            self.wait(lambda: not self.ctl_json("workers", code=None)["workers"], "no worker is connected")
            process.terminate()
            self.assertEqual(process.wait(30), 0)
        self.check_store(dict(zip(sources, numbers, strict=True)))
        logs = self.logs()
        for event in ("PREEMPTION", "TIME LIMIT"):
            self.assertTrue(f"DUE TO {event}" in logs, f"there was no {event}\n{logs}")
        self.assertTrue("draining: the worker accepts nothing new" in logs, logs)
        print(f"{JOBS} jobs, {retried} attempts failed\n{self.fleet_log.read_text()}", file=sys.stderr)

    def wait_for_all_workers(self) -> None:
        def are_connected() -> bool:
            self.hurry()
            return len(self.workers()) == NODES

        self.wait(are_connected, "there are three workers")

    def hurry(self) -> None:
        """Lets requeued jobs start, for which Slurm waits for two minutes. A job may have started meanwhile."""
        for job, (state, _) in self.cluster.jobs().items():
            if state == "PENDING":
                self.cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now", may_fail=True)

    def break_everything(self) -> None:
        """Breaks the cluster in every way, each while a worker has jobs."""
        _, node = self.busy_worker()
        self.cluster.kill_node(node)
        self.cluster.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=killed")
        self.stop_fleet()
        # The broker lists the lost worker until its lease has passed, and may not take it for the next one of the node.
        self.wait(lambda: node not in self.hosts(), f"the broker has missed the worker of {node}")
        self.cluster.start_node(node)
        # A node that has registered meanwhile is up already, and then cannot be resumed.
        self.cluster.run("scontrol", "update", f"NodeName={node}", "State=RESUME", may_fail=True)
        self.wait(lambda: "down" not in " ".join(self.cluster.node_states()), f"node {node} is up")
        time.sleep(STALE_MESSAGES_S)
        self.start_fleet("--idle", "2", "--every", "0.5")
        self.wait_for_all_workers()

        requeued, _ = self.busy_worker()
        self.cluster.run("scontrol", "requeue", requeued)
        self.wait(lambda: self.state_of(requeued) == "PENDING", "the job is requeued")
        self.wait_for_all_workers()

        urgent = ["sbatch", "--parsable", "--partition=urgent", "--gres=gpu:fake:1", "--output=/dev/null"]
        preempted, node = self.busy_worker()
        self.cluster.run(*urgent, f"--nodelist={node}", "--wrap=sleep 1")
        self.wait(lambda: self.state_of(preempted) != "RUNNING", f"job {preempted} gives way")

        # USR1 is due 120 s before the limit, and the worker drains. The limit itself ends only a worker that does not
        # drain, here because it is stopped. slurmctld looks at limits every 30 s.
        self.wait_for_all_workers()
        workers = self.workers()
        limited = sorted(workers)[:2]
        for pid in self.cluster.processes_on(workers[limited[1]][0]):
            with contextlib.suppress(OSError):  # children of jobs come and go
                if b"kq-worker" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]:
                    os.kill(pid, signal.SIGSTOP)
        # slurmctld refuses an end that has passed when the message arrives.
        for job, end in zip(limited, ("now+100", "now+2"), strict=True):
            self.cluster.run("scontrol", "update", f"JobId={job}", f"EndTime={end}")
        self.wait(lambda: all(self.state_of(job) != "RUNNING" for job in limited), f"jobs {limited} end")

    def state_of(self, job: str) -> str:
        return self.cluster.jobs().get(job, ("",))[0]

    def check_store(self, numbers: dict[str, int]) -> None:
        """Checks that each job is there under its number, once, finished, and passed."""
        done = kq.kq("ctl", "verify", "--store", self.store, "--json")
        self.assert_end(done, 0)
        found = json.loads(done.stdout)
        self.assertEqual((found["finished"], found["results"]), (len(numbers), len(numbers)))
        rows = kq.dump("all", "--store", self.store)
        self.assertEqual({row["label"]: int(row["job_id"]) for row in rows}, numbers)
        self.assertEqual(len(rows), len(numbers))
        self.assertEqual(Counter(row["verdict"] for row in rows), {"passed": len(numbers)}, self.logs())


@unittest.skipIf(cluster.missing(), cluster.missing())
class CommandTest(ClusterTest):
    def test_a_round_says_what_it_does_and_what_is_wrong(self) -> None:
        self.one_round("--max", "2", code=3)  # there is no broker
        with self.broker():
            self.submit("all", {f"job/{i}": f"# {i}\n{kq.RIGHT}" for i in range(12)})
            said = self.one_round("--max", "2", "--dry-run")
            self.assertIn("12 queued jobs, 0 leased jobs; 0 Slurm jobs of the fleet run, 0 wait to start", said)
            self.assertIn("would start 2 workers of pool any: 12 jobs need 2 workers", said)
            self.assertEqual(self.cluster.jobs(), {})
            said = self.one_round("--max", "2", "--sbatch=--partition=none", code=2)
            self.assertIn("sbatch failed with exit code 1: sbatch: error: invalid partition specified: none", said)
            said = self.one_round("--max", "2", code=2, PATH="/nowhere")
            self.assertIn("squeue cannot be started here", said)
            self.check_secrets()
            # The key file does not exist, so the job ends, and three such jobs stop the fleet.
            for _ in range(2):
                self.wait(lambda: not self.cluster.jobs(), "the jobs have ended")
                self.one_round("--max", "1", "--worker-key", "/no/such/key")
            self.wait(lambda: not self.cluster.jobs(), "the jobs have ended")
            said = self.one_round("--max", "1")
            self.assertIn("no worker is started, because 3 Slurm jobs of the fleet failed in 5 minutes", said)

    def test_a_drain_beyond_its_limit_returns_the_job(self) -> None:
        endless = kq.RIGHT.replace("return torch.relu(x)", "while True: pass")
        with self.broker():
            self.submit("endless", {"job": endless})
            self.one_round("--max", "1", KQ_DRAIN_LIMIT="1")
            (job,) = self.cluster.jobs()
            self.wait(
                lambda: any(one["running"] for one in self.ctl_json("workers", code=None)["workers"]), "the job runs"
            )
            self.cluster.run("scancel", "--batch", "--signal=USR1", job)
            self.wait(lambda: not self.cluster.jobs(), "the worker has ended")
            self.assertEqual(self.verdicts("endless"), {"job": "queued"})
            self.assertEqual(self.metric("kq_jobs_retried_total"), 0)

    def test_the_commands_of_the_page_work(self) -> None:
        """Runs the commands of docs/operator/slurm.md, with the queue, the GPUs and the keys of this test."""
        page = (kq.ROOT / "docs/operator/slurm.md").read_text()
        by_hand, by_fleet = re.findall(r"^```(?:text|sh)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        export, batch, direct = by_hand.splitlines()
        self.assertTrue(export.startswith("export KQ_BROKER="))
        with self.broker():
            sources = {f"job/{i}": f"# {i}\n{kq.RIGHT}" for i in range(6)}
            self.submit("batch", sources)
            self.shell(batch)
            self.wait_for("batch", dict.fromkeys(sources, "passed"))
            # Those that run end by themselves, and then the fourth starts and ends.
            self.wait(lambda: not self.cluster.jobs(), "the workers have ended")
            self.assertIn("the worker had no job for 1 s (--idle-exit), so it ends", self.shell(direct))
            dry, once, go_on = by_fleet.splitlines()
            self.submit("fleet", {f"job/{i}": f"# fleet {i}\n{kq.RIGHT}" for i in range(6)})
            self.assertIn("would start 1 worker of pool any", self.shell(dry))
            self.assertIn("started 1 worker of pool any as Slurm job", self.shell(once))
            self.assertIn("the fleet stops", self.shell("timeout --preserve-status -s INT 10 " + go_on))
            self.wait_for("fleet", {f"job/{i}": "passed" for i in range(6)})
            self.cluster.run("scancel", "--me")
            self.wait(lambda: not self.cluster.jobs(), "the worker has ended")

    def shell(self, line: str) -> str:
        """Runs a line of the page in the checkout and returns its output."""
        words = {"gpu:h100": "gpu:fake", "sbatch ": f"sbatch --output={self.folder}/job-%j.log "}
        for old, new in words.items():
            line = line.replace(old, new)
        env = self.environment(KQ_IDLE_EXIT="1", SBATCH_OUTPUT=f"{self.folder}/job-%j.log")
        env["PATH"] = f"{kq.BIN}:{env['PATH']}"
        done = subprocess.run(
            ["bash", "-c", line], env=env, capture_output=True, text=True, check=False, cwd=kq.ROOT, timeout=LIMIT_S
        )
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}{done.stderr}\n{self.logs()}")
        return done.stdout + done.stderr

    def check_secrets(self) -> None:
        """Checks that the path of a key is not in what Slurm shows of a job to other users."""
        self.one_round("--max", "1", "--worker-key", "/no/such/key", "--sbatch=--hold")
        (job,) = self.cluster.jobs()
        shown = self.cluster.run("scontrol", "show", "job", "-dd", job) + self.cluster.run("squeue", "-o", "%all")
        self.assertIn("kq-fleet any", shown)
        self.assertNotIn("/no/such/key", shown)
        self.cluster.run("scontrol", "release", job)


if __name__ == "__main__":
    unittest.main()
