"""Tests scripts/bench workloads with few jobs on the CPU: its table and its JSON have the figures."""

import json
import unittest

import kq


class BenchWorkloads(kq.EndToEndTest):
    def test_jobs_with_many_workloads_are_compared_with_jobs_of_one(self) -> None:
        out = self.folder / "figures.json"
        done = kq.bench_on_cpu("workloads", "--workloads", "3", "--jobs", "1", "--json", out)
        self.assert_end(done, 0)
        self.assertRegex(done.stdout, r"\n\| in a row \| 3 \| 1 \|( [0-9., ]+ \|){3}\n\| in turns \| 1 \| 1 \|")
        found = json.loads(out.read_text())
        self.assertEqual(
            {order: list(rows) for order, rows in found["run_s"].items()},
            {"in_a_row": ["1", "3"], "in_turns": ["1", "3"]},
        )
        self.assertGreater(min(found["ratios"].values()), 0)

    def test_invalid_options_are_refused(self) -> None:
        self.assert_end(kq.bench_on_cpu("workloads", "--workloads", "1"), 2)
        self.assert_end(kq.bench_on_cpu("workloads", "--jobs", "0"), 2)


if __name__ == "__main__":
    unittest.main()
