"""Tests that a place on a board cannot be won by luck: by jobs of one sample, or by the luckiest of many reruns."""

import json
import unittest

import kq

RUNS = 5
ONE_SAMPLE = {"correctness": 1, "warmup": 0, "timed": 1}


class Boards(kq.SharedWorkerTest):
    def submit_lines(self, run: str, lines: list[dict], *more: str) -> None:
        self.folder.joinpath("relu.py").write_text(kq.RELU)
        self.folder.joinpath("kernel.py").write_text(kq.RIGHT)
        common = {"path": "kernel.py", "problem": "relu.py", "backend": "torch"}
        jobs = self.folder / f"{run}.jsonl"
        jobs.write_text("".join(json.dumps(common | line) + "\n" for line in lines))
        self.assert_end(kq.kq("submit", jobs, "--run", run, "--wait", *more, KQ_BROKER=self.url), 0)

    def board(self, *more: str) -> dict:
        done = kq.kq("leaderboard", "--format", "json", *more, KQ_BROKER=self.url)
        return json.loads(done.stdout)

    def assert_views_agree(self, stored: dict) -> None:
        """Asserts that boards of rows, rankings and pages have the first place that the broker keeps."""
        site = self.folder / "site"
        self.assert_end(kq.kq("leaderboard", "--html", site, KQ_BROKER=self.url), 0)
        site.joinpath("runs", "own.html").write_text("<!doctype html>of another hand")
        done = kq.kq("leaderboard", "--html", site, "--no-reports", KQ_BROKER=self.url)
        self.assert_end(done, 0)
        self.assertIn("removed 1 page of earlier calls", done.stderr)
        self.assertEqual([page.name for page in site.joinpath("runs").iterdir()], ["own.html"])
        ((page,),) = (board["entries"] for board in json.loads(site.joinpath("boards.json").read_text())["boards"])
        (ranked,) = self.board("--top", "3")["rows"]
        self.assertEqual([ranked["runs"], page["runs"]], [["owner", "again"]] * 2)
        of_alice = {row["value"]: row for row in self.board("--by", "author")["rows"]}["alice"]
        figures = ("label", "rank", "median_us", "noise_us", "speedup", "speedup_noise", "run_count", "sample_count")
        for view in (ranked, page, of_alice):
            self.assertEqual({name: view[name] for name in figures}, {name: stored[name] for name in figures})
            self.assertEqual((view["tie_count"], stored["tie_count"]), (0, None), "the broker does not keep ties")

    def test_reruns_of_a_kernel_belong_to_the_first_and_jobs_of_one_sample_do_not_count(self) -> None:
        with self.broker():
            self.wait_for_worker()
            thief = {"author": "bob", "params": ONE_SAMPLE}
            self.submit_lines("thief", [{"id": "bobs"} | thief])
            self.assertEqual(self.board()["rows"], [], "one sample is no time")
            self.assertEqual(self.board("--run", "thief")["rows"], [])
            self.submit_lines("owner", [{"id": "alices", "author": "alice"}])
            (before,) = self.board()["rows"]
            self.assertEqual((before["label"], before["run_count"]), ("alices", 1))
            self.assertGreaterEqual(before["noise_us"], 0.01 * before["median_us"])
            # Many reruns by another author are runs of the same kernel.
            for i in range(RUNS):
                self.submit_lines("again", [{"id": f"bobs-{i}", "author": "bob"}], "--force-rerun")
            (after,) = self.board()["rows"]
            self.assertEqual((after["label"], after["author"], after["run_count"]), ("alices", "alice", 1 + RUNS))
            fastest = min(float(row["median_us"]) for row in kq.dump("again", "--broker", self.url))
            self.assertGreater(after["median_us"], fastest)
            (own,) = self.board("--run", "again")["rows"]
            self.assertEqual((own["run_count"], own["tie_count"]), (RUNS, 0))
            self.assert_views_agree(after)
        self.assert_end(kq.kq("ctl", "verify", "--store", self.store), 0)


if __name__ == "__main__":
    unittest.main()
