"""Tests scripts/bench faults on the CPU: bad kernels fail as expected, good ones pass, and the JSON has their costs."""

import json
import unittest

import kq

ENDS = {
    "endless_loop": "timed_out",
    "segfault": "crashed",
    "exits": "runtime_error",
    "raises": "runtime_error",
    "host_memory": "out_of_memory",
}


class BenchFaults(kq.EndToEndTest):
    def test_bad_kernels_fail_as_expected_and_the_next_good_ones_pass(self) -> None:
        out = self.folder / "figures.json"
        done = kq.bench_on_cpu("faults", "--times", "1", "--json", out)
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
        self.assert_end(kq.bench_on_cpu("faults", "--times", "0"), 2)


if __name__ == "__main__":
    unittest.main()
