"""Tests the static guard: it must reject hostile rows by the expected rule, and must not reject honest rows."""

import json
import os
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path

from rows import FOLDER, FOLDERS, guard_error, rows

ROOT = FOLDER.parents[1]
BIN = Path(os.environ.get("KQ_BIN") or ROOT / "build/release/bin").resolve()


class Static(unittest.TestCase):
    def test_the_guard_says_of_every_row_what_its_header_expects(self) -> None:
        done = subprocess.run(
            [BIN / "kq-check", "--format", "json", FOLDER], capture_output=True, text=True, timeout=120
        )
        self.assertIn(done.returncode, (0, 1), done.stderr)
        findings = defaultdict(list)
        for one in json.loads(done.stdout)["findings"]:
            findings[Path(one["file"]).name].append(one)
        for row in rows():
            with self.subTest(row.path.name):
                self.assertIsNone(wrong := guard_error(row, findings[row.path.name]), wrong)

    def test_every_row_is_in_a_folder_of_its_kind(self) -> None:
        self.assertEqual({path.parent.name for path in FOLDER.rglob("*.py")}, {*FOLDERS, "problems", "suite"})
        for row in rows():
            with self.subTest(row.path.name):
                folder = {"honest": "honest", "mutants": "mutant"}.get(row.path.parent.name, "hostile")
                self.assertEqual(row.kind, folder)

    def test_every_row_states_its_expected_verdicts(self) -> None:
        for row in rows():
            with self.subTest(row.path.name):
                self.assertTrue(row.guard and row.expect and row.is_hostile == (row.expect != "passed"), row)

    def test_there_are_enough_hostile_and_honest_rows(self) -> None:
        hostile = sum(row.is_hostile for row in rows())
        self.assertGreaterEqual(hostile, 90)
        self.assertGreaterEqual(len(rows()) - hostile, 45)


if __name__ == "__main__":
    unittest.main()
