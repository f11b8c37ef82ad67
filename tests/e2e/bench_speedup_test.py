"""Tests scripts/bench speedup with a small load on the CPU: its JSON has the figures, its exit code tells failures."""

import json
import unittest

import kq

PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return {result}


def get_inputs():
    return [torch.rand(64, 64)]


def get_init_inputs():
    return []
"""


class BenchSpeedup(kq.EndToEndTest):
    def test_copies_are_judged_and_compared(self) -> None:
        problems = self.folder / "problems"
        problems.mkdir()
        (problems / "twice.py").write_text(PROBLEM.format(result="x * 2"))
        out = self.folder / "figures.json"
        done = kq.bench_on_cpu("speedup", "--problems", problems, "--copies", "2", "--timed", "6", "--json", out)
        self.assert_end(done, 0)
        self.assertRegex(done.stdout, r"\n\| twice \| 2 \|( [^|]+ \|){7} [0-2] \| [0-2] \|\n\n2 of 2 passed; ")
        found = json.loads(out.read_text())["problems"]["twice"]
        for name in ("times_us", "references_us", "speedups", "noises"):
            self.assertEqual(len(found[name]), 2)
            self.assertGreater(min(found[name]), 0)
        self.assertRegex(done.stdout, r"\nmedian speedup [0-9.]+; [0-2] of 2 outside their noise, [0-2] ranked ")
        # A reference whose results differ from each other cannot be measured.
        (problems / "drawn.py").write_text(
            PROBLEM.format(result="x * torch.empty(1).fill_(__import__('time').time_ns() % 1009)")
        )
        done = kq.bench_on_cpu("speedup", "--problems", problems, "--copies", "1", "--timed", "3")
        self.assert_end(done, 1)
        self.assertIn("drawn_0: problem_invalid", done.stderr)

    def test_invalid_options_are_refused(self) -> None:
        self.assert_end(kq.bench_on_cpu("speedup", "--problems", self.folder), 2)
        self.assert_end(kq.bench_on_cpu("speedup", "--copies", "0"), 2)


if __name__ == "__main__":
    unittest.main()
