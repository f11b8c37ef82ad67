"""Runs a problem in GPU MODE's form that needs several devices, by its own program, with a real broker and worker.

On the CPU the lane counts as two devices, and the ranks of the problem talk over Gloo. With KQ_SEVERAL_GPUS=cuda the
lane has two GPUs, and the ranks talk over NCCL (tests/gpu/several_gpus_gpu_test).
"""

import os
import shutil
import tempfile
import unittest
from pathlib import Path

import kq

PROBLEM = kq.ROOT / "examples/several_gpus/all_reduce"
OF_ONE_DEVICE = kq.ROOT / "examples/popcorn/vector_add"
DEVICE = os.environ.get("KQ_SEVERAL_GPUS", "cpu")
LANE = ("--devices", "cuda:0,cuda:1" if DEVICE == "cuda" else "cpu", "--gpus-per-lane", "2")
RIGHT = (PROBLEM / "submission.py").read_text()
# A job for one device that fails where it sees more.
SEES_ONE = (
    (OF_ONE_DEVICE / "submission.py")
    .read_text()
    .replace(
        "    a, b, out = data\n",
        "    a, b, out = data\n"
        "    if torch.cuda.device_count() > 1:\n"
        "        raise RuntimeError('it sees more than one GPU')\n",
    )
)


class SeveralDevices(kq.QueueTest):
    """The tests share one worker."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.shared = Path(tempfile.mkdtemp(prefix="kq-e2e.", dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.addClassCleanup(cls.print_log)
        log = (cls.shared / "worker.log").open("wb")
        words = ("--connect", f"ipc://{cls.shared}/b", "--state", cls.shared / "w", *LANE)
        try:
            # The last lines of NCCL are in the log of a job that does not pass.
            worker = kq.start("kq-worker", *words, stderr=log, NCCL_DEBUG="INFO")
        except AssertionError:
            cls.print_log()
            raise
        cls.addClassCleanup(worker.wait, 60)
        cls.addClassCleanup(worker.kill)
        cls.addClassCleanup(log.close)

    @classmethod
    def print_log(cls) -> None:
        """Prints the worker's log on a GPU, where a failure cannot be looked into afterwards."""
        if DEVICE == "cuda" and (cls.shared / "worker.log").exists():
            print((cls.shared / "worker.log").read_text(errors="replace")[-8000:])

    def setUp(self) -> None:
        super().setUp()
        self.url = f"ipc://{self.shared}/b"
        self.running_broker = self.broker()
        self.running_broker.__enter__()

    def tearDown(self) -> None:
        self.running_broker.__exit__(None, None, None)
        super().tearDown()

    def submitted(self, problem: Path, code: str, *words: str, judged_by: str = "problem") -> dict[str, str]:
        """Returns the row of the job. The row of a job that did not pass is printed with its log."""
        (self.folder / "mine.py").write_text(code)
        run = f"run-{len(list(self.folder.iterdir()))}"
        (self.folder / run).mkdir()
        words = ("--problem", problem, "--judged-by", judged_by, "--device", DEVICE, "--run", run, *words)
        done = kq.kq("submit", self.folder / "mine.py", *words, "--broker", self.url, "--wait", "--exit-zero")
        self.assert_end(done, 0)
        [row] = kq.dump(run, "--broker", self.url)
        if DEVICE == "cuda" or row["verdict"] != "passed":
            shown = kq.kq("show", run, row["label"], "--broker", self.url)
            print(shown.stdout, shown.stderr, f"sandbox: {row.get('sandbox')}", sep="\n")
        return row

    def test_every_mode_runs_on_all_devices_of_the_lane(self) -> None:
        for words, cases in (
            (("--workloads", "test.*"), "2 of 2"),
            (("--workloads", "benchmark.*"), "2 of 2"),
            ((), "4 of 4"),
            (("--workloads", "benchmark.*", "--profile", "ncu"), "2 of 2"),
        ):
            with self.subTest(words):
                row = self.submitted(PROBLEM, RIGHT, *words)
                self.assertEqual((row["verdict"], row["message"]), ("passed", ""))
                self.assertEqual((row["cases"], row["method"]), (cases, "self_reported"))
        workers = self.ctl_json("workers")["workers"]
        self.assertEqual([device["device_count"] for device in workers[0]["devices"]], [2])
        self.assertIn("lane of 2 ", self.ctl("workers"))

    def test_every_rank_is_checked(self) -> None:
        wrong = RIGHT.replace("    return data", "    return data + dist.get_rank()")
        row = self.submitted(PROBLEM, wrong, "--workloads", "test.*")
        self.assertEqual(row["verdict"], "wrong_answer", row["message"])
        self.assertIn("rank 1: the largest difference is 1", row["message"])
        self.assertNotIn("rank 0: ", row["message"])

    def test_a_job_for_one_device_uses_the_first(self) -> None:
        for judged_by in ("problem", "kq"):
            with self.subTest(judged_by):
                row = self.submitted(OF_ONE_DEVICE, SEES_ONE, "--workloads", "test.*", judged_by=judged_by)
                self.assertEqual((row["verdict"], row["message"]), ("passed", ""))


class OneDevice(kq.QueueTest):
    def test_a_job_for_two_devices_waits_and_says_for_what(self) -> None:
        words = ("submit", PROBLEM, "--judged-by", "problem", "--run", "two", "--broker", self.url)
        with self.broker(), self.worker():
            self.wait_for_worker()
            self.assert_end(kq.kq(*words), 0)
            self.assertIn(
                "waits for a lane of 2 devices: the only worker has none; kq worker --gpus-per-lane 2 makes them",
                self.ctl("why", "--run", "two"),
            )
            [lane] = self.ctl_json("queue")["lanes"]
            self.assertEqual((lane["needs"]["device_count"], lane["served"]), (2, False))

    def test_kq_does_not_judge_such_a_problem(self) -> None:
        done = kq.kq("submit", PROBLEM, "--run", "two", "--broker", self.url)
        self.assert_end(done, 2)
        self.assertEqual(
            done.stderr.splitlines()[0],
            "kq-submit: leaderboard all_reduce cannot be judged here: its submissions run on several GPUs at once, and "
            "kq's judge measures on one; kq submit --judged-by problem runs its own program",
        )

    def test_lanes_must_be_whole(self) -> None:
        words = ("--connect", self.url, "--state", self.state / "w", "--devices", "cuda:0,cuda:1,cuda:2")
        done = kq.kq("worker", *words, "--gpus-per-lane", "2", "--log-format", "text")
        self.assert_end(done, 2)
        self.assertIn("--gpus-per-lane 2: 3 GPUs do not make whole lanes; choose GPUs with --devices", done.stderr)


if __name__ == "__main__":
    unittest.main()
