"""Tests rows at run time, without the static guard.

Each row must end as its header says and leave no process or file, and an honest job after it must pass in its usual
time.

By default only every twentieth row runs. KQ_ADVERSARIAL=all runs all rows, and any other value runs the rows with that
text in their names. KQ_ADVERSARIAL_DEVICE=cuda uses the first GPU instead of the CPU.
"""

import math
import os
import statistics
import time
import unittest
from collections import Counter

from lane import Lane
from rows import FOLDER, Row, problem_of, rows

DEVICE = os.environ.get("KQ_ADVERSARIAL_DEVICE", "cpu")
CHOICE = os.environ.get("KQ_ADVERSARIAL", "")
EVERY_NTH = 20  # one of so many rows runs by default
SLOWER_AT_MOST = 20  # how many times slower than usual an honest job may be on a busy machine


def chosen() -> list[Row]:
    """Returns the rows to run, sorted by problem so that a reference is used again, and on a GPU by lane first."""
    all_rows = sorted((row for row in rows() if row.runs_on(DEVICE)), key=lambda row: row.problem)
    if DEVICE == "cuda":
        all_rows.sort(key=pace_of)
    if CHOICE == "all":
        return all_rows
    if CHOICE:
        return [row for row in all_rows if CHOICE in row.path.name]
    # Rows that time out take long, and lane_test has one.
    return [
        row for i, row in enumerate(all_rows) if i % EVERY_NTH == 0 and not row.is_long and "timed_out" not in row.run
    ]


def pace_of(row: Row) -> str:
    """Returns the kind of lane for a row: hasty lanes have short limits for rows that time out."""
    if row.path.stem.startswith("burst_"):
        return "bursts"
    return "hasty" if any("timed_out" in ending for ending in row.endings(DEVICE)) else "patient"


def table_of(endings: Counter[tuple[str, str]]) -> list[str]:
    """Returns the lines of a table of verdicts by kind of row, as in docs/design/integrity.md."""
    kinds = sorted({kind for kind, _ in endings})
    lines = ["| ending | " + " | ".join(kinds) + " |", "|---|" + "---|" * len(kinds)]
    for verdict in sorted({verdict for _, verdict in endings}):
        lines.append(f"| {verdict} | " + " | ".join(str(endings[kind, verdict] or ".") for kind in kinds) + " |")
    return [
        *lines,
        "| **all** | " + " | ".join(str(sum(n for (k, _), n in endings.items() if k == kind)) for kind in kinds) + " |",
    ]


class Runtime(unittest.TestCase):
    lanes: dict[str, Lane] = {}

    @classmethod
    def tearDownClass(cls) -> None:
        for lane in cls.lanes.values():
            lane.close()

    def lane_for(self, row: Row) -> Lane:
        """Returns the row's lane. Only one lane is open on a GPU, because the judge of a lane takes the processes of
        another lane for processes that are not kq's.
        """
        pace = pace_of(row)
        if pace not in self.lanes:
            if DEVICE == "cuda":
                for lane in self.lanes.values():
                    lane.close()
                self.lanes.clear()
            lane = self.lanes[pace] = Lane(DEVICE, pace)
            lane.record_baseline(FOLDER / "problems/relu_right.py", FOLDER / "problems/relu.py")
        return self.lanes[pace]

    def test_each_row_ends_as_its_header_says_and_leaves_nothing(self) -> None:
        times: dict[str, list[float]] = {}
        endings: Counter[tuple[str, str]] = Counter()
        for row in chosen():
            with self.subTest(row.path.name):
                lane = self.lane_for(row)
                begun = time.monotonic()
                for _ in range(row.times):
                    ending = lane.run(row.path, problem_of(row), row.backend)
                    words = f"{row.path.name}: {ending.verdict} ({ending.message})\n{ending.log[-1500:]}"
                    self.assertIn(ending.verdict, row.endings(DEVICE), words)
                    self.assertIn("rlimits", ending.sandbox, "the result must name the layers of the sandbox")
                # The row has left nothing, and an honest job after it passes in its usual time.
                self.assertEqual(lane.leftovers(), [], row.path.name)
                known = times.setdefault(row.problem, [])
                known.append(
                    self.honest_job_after(lane, row, SLOWER_AT_MOST * statistics.median(known) if known else math.inf)
                )
                endings[row.kind, ending.verdict] += 1
                if CHOICE:
                    print(f"{row.path.stem:40} {ending.verdict:28} {time.monotonic() - begun:6.2f} s", flush=True)
        print("\n".join(table_of(endings)), flush=True)

    @unittest.skipUnless(DEVICE == "cuda", "streams and graphs need a GPU")
    def test_each_row_ends_rightly_where_streams_and_graphs_are_allowed(self) -> None:
        for lane in self.lanes.values():
            lane.close()
        self.lanes.clear()
        lane = self.lanes["allowed"] = Lane(DEVICE, "allowed")
        for row in [row for row in rows() if row.allowed and (CHOICE in ("", "all") or CHOICE in row.path.name)]:
            with self.subTest(row.path.name):
                ending = lane.run(row.path, problem_of(row), row.backend)
                print(f"{row.path.stem:40} {ending.verdict:28} {ending.message}", flush=True)
                self.assertIn(ending.verdict, row.endings_if_allowed(), ending.message + ending.log[-1500:])
                control = lane.run(row.control, problem_of(row))
                self.assertEqual(control.verdict, "passed", f"the honest job after {row.path.name}: {control.message}")

    def honest_job_after(self, lane: Lane, row: Row, limit_ns: float) -> float:
        """Runs the honest job after a row and returns its time; repeats the job up to five times if it was too slow."""
        took_ns = []
        while not took_ns or (took_ns[-1] > limit_ns and len(took_ns) < 5):
            control = lane.run(row.control, problem_of(row))
            self.assertEqual(control.verdict, "passed", f"the honest job after {row.path.name}: {control.message}")
            took_ns.append(control.median_ns)
        self.assertLessEqual(took_ns[-1], limit_ns, f"the honest job after {row.path.name}: {took_ns}")
        return took_ns[-1]


class Rows(unittest.TestCase):
    def test_there_are_enough_rows_of_each_kind_at_run_time(self) -> None:
        ran = [row for row in rows() if row.run]
        self.assertGreaterEqual(sum(row.is_mutant for row in ran), 20)
        self.assertGreaterEqual(sum(row.is_hostile and not row.is_mutant for row in ran), 100)
        self.assertGreaterEqual(sum(not row.is_hostile for row in ran), 25)

    def test_a_hostile_row_passes_only_if_it_is_harmless(self) -> None:
        for row in rows():
            with self.subTest(row.path.name):
                self.assertTrue(
                    row.run or "rejected" in row.expect or row.expect == "passed",
                    "neither the guard nor the run decides this row",
                )
                if row.is_hostile:
                    self.assertNotIn("passed", row.run, "write 'harmless' for an attack that gains nothing by passing")
                    self.assertTrue(row.control.exists() and problem_of(row).exists())


if __name__ == "__main__":
    unittest.main()
