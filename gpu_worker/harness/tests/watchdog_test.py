"""Tests the watchdog over a made-up /proc; hostile_test.py tests what happens to a child that it names."""

import tempfile
import unittest
from pathlib import Path

from harness.sandbox.watchdog import Watchdog

GIB = 1 << 30


class Watching(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.proc = Path(directory.name)
        self.machine(available_gib=50)
        self.process("self", anon_gib=1)

    def machine(self, available_gib: int) -> None:
        kib = available_gib << 20
        (self.proc / "meminfo").write_text(f"MemTotal:       {100 << 20} kB\nMemAvailable:   {kib} kB\n")

    def process(self, pid: str, anon_gib: int = 0, shared_gib: int = 0, children: str = "") -> None:
        task = self.proc / pid / "task" / pid
        task.mkdir(parents=True, exist_ok=True)
        (task / "children").write_text(children)
        (self.proc / pid / "status").write_text(
            f"Name:\tx\nRssAnon:\t{anon_gib << 20} kB\nRssFile:\t999999999 kB\nRssShmem:\t{shared_gib << 20} kB\n"
        )

    def test_shared_memory_that_was_inherited_costs_nothing(self) -> None:
        watchdog = Watchdog(self.proc, inherited_shared=2 * GIB)
        self.process("7", shared_gib=3)
        watchdog.watch(7, GIB)
        self.assertEqual(watchdog.over_limit(), [])
        watchdog.watch(7, GIB - 1)
        self.assertEqual(watchdog.over_limit(), [7])

    def test_what_was_inherited_costs_nothing(self) -> None:
        watchdog = Watchdog(self.proc)
        self.process("7", anon_gib=1, children="8 ")
        self.process("8", anon_gib=3)
        watchdog.watch(7, 2 * GIB)
        self.assertEqual(watchdog.over_limit(), [])
        watchdog.watch(7, 2 * GIB - 1)
        self.assertEqual(watchdog.over_limit(), [7])

    def test_many_processes_are_one_child(self) -> None:
        watchdog = Watchdog(self.proc)
        self.process("7", children="8 9 ")
        self.process("8", anon_gib=2, children="10")
        self.process("9", anon_gib=2)
        self.process("10", anon_gib=2)
        watchdog.watch(7, 3 * GIB - 1)
        self.assertEqual(watchdog.over_limit(), [7])
        watchdog.forget(7)
        self.assertTrue(watchdog.idle)
        self.assertEqual(watchdog.over_limit(), [])

    def test_shared_memory_counts_once(self) -> None:
        watchdog = Watchdog(self.proc)
        self.process("7", children="8 9 ")
        self.process("8", shared_gib=2)
        self.process("9", shared_gib=2)
        watchdog.watch(7, 2 * GIB)
        self.assertEqual(watchdog.over_limit(), [])
        watchdog.watch(7, 2 * GIB - 1)
        self.assertEqual(watchdog.over_limit(), [7])

    def test_when_the_machine_has_none_left_the_largest_goes(self) -> None:
        watchdog = Watchdog(self.proc)
        self.process("7", anon_gib=2)
        self.process("8", anon_gib=3)
        for pid in (7, 8):
            watchdog.watch(pid, 90 * GIB)
        self.assertEqual(watchdog.over_limit(), [])
        self.machine(available_gib=2)
        self.assertEqual(watchdog.over_limit(), [8])

    def test_a_child_that_is_gone_has_nothing(self) -> None:
        watchdog = Watchdog(self.proc)
        watchdog.watch(99, 1)
        self.assertEqual(watchdog.over_limit(), [])


if __name__ == "__main__":
    unittest.main()
