"""Tests scripts/bench faults on the CPU: bad kernels fail as expected, good ones pass, and the JSON has their costs."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

import kq

SCRIPT = kq.ROOT / "tests/bench/programs/faults.py"
ENDS = {
    "endless_loop": "timed_out",
    "segfault": "crashed",
    "exits": "runtime_error",
    "raises": "runtime_error",
    "host_memory": "out_of_memory",
}


class BenchFaults(kq.EndToEndTest):
    def bench(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(SCRIPT), "--device", "cpu", *map(str, words)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=kq.LIMIT_S, env=kq.environment(), check=False
        )

    def test_bad_kernels_fail_as_expected_and_the_next_good_ones_pass(self) -> None:
        out = self.folder / "figures.json"
        done = self.bench("--times", "1", "--json", out)
        self.assert_end(done, 0)
        found = json.loads(out.read_text())
        self.assertEqual(
            {name: one["verdicts"] for name, one in found["faults"].items()},
            {name: [end] for name, end in ENDS.items()},
        )
        for name, one in found["faults"].items():
            self.assertRegex(done.stdout, rf"\n\| {name} \| {ENDS[name]} \| ")
            self.assertEqual((len(one["cost_s"]), len(one["next_us"])), (1, 1))
            self.assertGreater(one["next_us"][0], 0)

    def test_invalid_options_are_refused(self) -> None:
        self.assert_end(self.bench("--times", "0"), 2)


if __name__ == "__main__":
    unittest.main()
