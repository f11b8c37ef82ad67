"""Tests scripts/bench sweep with a small load on the CPU: all jobs pass, and its JSON holds the figures."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

import kq

SCRIPT = kq.ROOT / "tests/bench/programs/sweep.py"


def bench(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, words)]
    env = kq.environment(KQ_BIN=str(kq.BIN))
    return subprocess.run(command, capture_output=True, text=True, timeout=kq.LIMIT_S, env=env, check=False)


class BenchSweep(kq.EndToEndTest):
    def test_a_small_sweep_passes_and_is_measured(self) -> None:
        out = self.folder / "figures.json"
        words = ("--device", "cpu", "--cold", "--jobs", "3", "--problems", "2", "--backends", "torch", "--timed", "2")
        self.assert_end(bench(*words, "--json", out), 0)
        found = json.loads(out.read_text())
        self.assertEqual(
            (found["jobs_n"], found["problems_n"], found["trials"]["timed"], found["fill"]), (3, 2, 2, None)
        )
        self.assertIn("torch", found["machine"])
        (one,) = found["passes"]
        self.assertEqual(one["verdicts"], {"passed": 3})
        self.assertEqual((one["lanes_n"], one["scaling"], one["build_cached_n"], one["not_passed"]), (1, 1, 0, []))
        self.assertAlmostEqual(one["results_per_s"], 3 / one["wall_s"])
        self.assertGreater(one["host_memory_peak_bytes"], 1 << 20)
        self.assertGreater(one["lane_busy_share"], 0)
        self.assertLess(one["lane_busy_share"], one["lane_occupied_share"])
        self.assertLessEqual(one["lane_occupied_share"], 1)
        for figures in (one, one["by_backend"]["torch"]):
            self.assertEqual(figures["jobs_n"], 3)
            self.assertGreater(figures["trials_ms_p50"], 0)
            self.assertGreater(figures["lane_overhead_ms"]["p50"], 0)
            self.assertGreaterEqual(figures["lane_overhead_ms"]["p95"], figures["lane_overhead_ms"]["p50"])

    def test_a_measurement_that_is_impossible_here_is_refused(self) -> None:
        done = bench("--device", "cpu", "--peer", "kernelbench", self.folder)
        self.assert_end(done, 2)
        self.assertIn("--peer needs --device cuda", done.stderr)
        done = bench("--device", "cuda", "--gpus", "1,64")
        self.assert_end(done, 3)
        self.assertIn("GPU", done.stderr)


if __name__ == "__main__":
    unittest.main()
