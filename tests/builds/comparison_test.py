"""Tests what the comparison of two builders reports for given answers."""

import unittest

import comparison

RIGHT = {"s": 5.0, "cpu_s": 10.0, "ran_on": "gpu", "wrong": "", "digest": "a", "way": "split"}
SLOW = RIGHT | {"s": 50.0, "cpu_s": 80.0}


class ComparisonTest(unittest.TestCase):
    def test_the_parts_together_have_every_name_once(self) -> None:
        names = [str(n) for n in range(200)]
        for n in (1, 3, 7):
            self.assertEqual([name for i in range(n) for name in comparison.part_of(names, f"{i + 1}/{n}")], names)
        for part in ("0/2", "3/2", "a/2", "1"):
            with self.assertRaises(ValueError):
                comparison.part_of(names, part)

    def test_sources_that_both_build_right_are_no_failure(self) -> None:
        sources = {"a": {"kq": RIGHT, "torch": SLOW}, "b": {"kq": RIGHT, "torch": SLOW | {"digest": "b"}}}
        self.assertEqual(comparison.failures_of(sources), [])
        text = "\n".join(comparison.lines_of(sources))
        self.assertIn("built both ways: 2 of 2; both right: 2; to the last bit the same: 1", text)
        self.assertIn("torch takes 8.0 times", text)
        self.assertNotIn("PARTIAL", text)

    def test_a_build_that_fails_or_is_wrong_is_a_failure_of_either_builder(self) -> None:
        sources = {
            "a": {"kq": {"error": "no such name"}, "torch": SLOW},
            "b": {"kq": RIGHT | {"wrong": "b: [1], expected [2]"}, "torch": SLOW},
            "c": {"kq": RIGHT, "torch": {"error": "no ninja"}},
        }
        self.assertEqual(len(comparison.failures_of(sources)), 3)
        self.assertIn("both right: 0", "\n".join(comparison.lines_of(sources)))

    def test_a_build_that_was_cut_is_partial_and_counts_for_neither_builder(self) -> None:
        sources = {"a": {"kq": RIGHT, "torch": SLOW}, "b": {"kq": RIGHT, "torch": {"cut": "not done"}}}
        self.assertEqual(comparison.failures_of(sources), [])
        self.assertEqual(comparison.cut_builds_of(sources), ["torch b"])
        text = "\n".join(comparison.lines_of(sources))
        self.assertIn("torch: built 1 of 2", text)
        self.assertIn("built both ways: 1 of 2", text)
        self.assertIn("PARTIAL: time was up before 1 builds: torch b", text)

    def test_only_a_module_that_ran_with_correct_results_is_settled(self) -> None:
        self.assertTrue(comparison.is_built_and_correct(RIGHT))
        for answer in (
            {},
            {"cut": "not done"},
            {"error": "no ninja"},
            {"s": 5.0, "cpu_s": 9.0},
            RIGHT | {"wrong": "b"},
        ):
            self.assertFalse(comparison.is_built_and_correct(answer))

    def test_every_answer_is_reported_and_torch_comes_after_kq(self) -> None:
        told: list[tuple[str, str]] = []
        comparison.build_all(
            ["a", "b"],
            ("kq", "torch"),
            1,
            lambda side, name: RIGHT,
            lambda side, name, answer: told.append((side, name)),
        )
        self.assertEqual(told, [("kq", "a"), ("kq", "b"), ("torch", "a"), ("torch", "b")])

    def test_at_least_one_build_may_run(self) -> None:
        self.assertEqual(comparison.jobs_here(1), 1)


if __name__ == "__main__":
    unittest.main()
