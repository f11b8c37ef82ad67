"""Tests scripts/bench workloads with few jobs on the CPU: its table and its JSON have the figures."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

import kq

SCRIPT = kq.ROOT / "tests/bench/programs/workloads.py"


class BenchWorkloads(kq.EndToEndTest):
    def bench(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(SCRIPT), "--device", "cpu", *map(str, words)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=kq.LIMIT_S, env=kq.environment(), check=False
        )

    def test_jobs_with_many_workloads_are_compared_with_jobs_of_one(self) -> None:
        out = self.folder / "figures.json"
        done = self.bench("--workloads", "3", "--jobs", "1", "--json", out)
        self.assert_end(done, 0)
        self.assertRegex(done.stdout, r"\n\| in a row \| 3 \| 1 \|( [0-9., ]+ \|){3}\n\| in turns \| 1 \| 1 \|")
        found = json.loads(out.read_text())
        self.assertEqual(
            {order: list(rows) for order, rows in found["run_s"].items()},
            {"in_a_row": ["1", "3"], "in_turns": ["1", "3"]},
        )
        self.assertGreater(min(found["ratios"].values()), 0)

    def test_invalid_options_are_refused(self) -> None:
        self.assert_end(self.bench("--workloads", "1"), 2)
        self.assert_end(self.bench("--jobs", "0"), 2)


if __name__ == "__main__":
    unittest.main()
