"""Tests rows with the real broker and worker, including the guard. Each row must end as its header expects, and the
worker must run an honest job afterwards.
"""

import sys
import unittest

from rows import FOLDER, rows

sys.path.insert(0, str(FOLDER.parent / "e2e"))
import kq  # noqa: E402

# One row for each kind of ending that comes within seconds under the worker's own limits, including rows that only the
# guard rejects. Rows that fill memory are not among them; runtime_test.py runs these with lower limits.
CHOSEN = (
    "early_done",
    "answer_with_endless_shape",
    "page_unmapped",
    "window_replaced",
    "exit_zero_import",
    "fork_that_survives",
    "kill_everyone",
    "py_side_stream",
    "thread_raw",
    "mode_detector",
    "mutant_relu_half_inside",
    "honest_writes_its_scratch",
)


class ThroughTheQueue(kq.QueueTest):
    def test_rows_end_as_expected_and_the_worker_goes_on(self) -> None:
        found = {row.path.stem: row for row in rows()}
        sources = {f"relu/{name}": found[name].path.read_text() for name in CHOSEN}
        with self.broker(), self.worker() as worker:
            self.wait_for_worker()
            jobs = kq.write_sweep(self.folder / "jobs", sources, trials=(3, 1, 3))
            self.assert_end(kq.kq("submit", jobs, "--run", "hostile", KQ_BROKER=self.url), 0)
            kq.wait_until(lambda: len(self.finished("hostile")) == len(CHOSEN), "every row has ended")
            for row in self.finished("hostile"):
                name = row["label"].removeprefix("relu/")
                with self.subTest(name):
                    ending = f"{row['verdict']} {row['reason']}".strip()
                    expected = [one.replace("harmless", "passed") for one in found[name].expect.split(" | ")]
                    self.assertIn(ending, expected, row["message"])
                    self.assertTrue(
                        ending == "passed" or row["median_us"] == "", "a row that did not pass must have no times"
                    )
                    if row["verdict"] != "rejected" or "tamper" in ending:
                        self.assertIn("rlimits", row["sandbox"], "the result must name the layers of the sandbox")
            # The same worker then evaluates an honest job, whose source is new.
            self.submit("honest", {"relu/honest": kq.RIGHT + "# after them all\n"})
            kq.wait_until(lambda: self.finished("honest"), "the honest job has ended")
            self.assertEqual([row["verdict"] for row in self.finished("honest")], ["passed"])
            self.assertIsNone(worker.poll())
            self.assertEqual(len(self.ctl_json("workers")["workers"]), 1)

    def finished(self, run: str) -> list[dict[str, str]]:
        return [row for row in kq.dump(run, "--broker", self.url) if row["state"] == "finished"]


if __name__ == "__main__":
    unittest.main()
