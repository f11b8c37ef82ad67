"""Tests what g++ returns for the guard, and the limits of its time and output."""

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from harness.kernels import preprocess

SOURCE = '#include "own.h"\nint b = A;\n'


class Preprocess(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "src").mkdir()
        (self.folder / "src/k.cu").write_text(SOURCE)
        (self.folder / "src/own.h").write_text("#define A 7\n")

    def preprocessed(self, compiler: str = "") -> bytes | None:
        path = os.environ["PATH"]
        if compiler:
            (self.folder / "g++").write_text(f"#!/bin/sh\n{compiler}\n")
            (self.folder / "g++").chmod(0o755)
            path = f"{self.folder}:{path}"
        with mock.patch.dict(os.environ, {"PATH": path}):
            return preprocess.preprocessed(self.folder / "src/k.cu", [], [])

    def test_its_own_lines_are_kept(self) -> None:
        self.assertIn(b"int b = 7;", self.preprocessed() or b"")

    def test_it_ends_with_its_limit_whoever_holds_the_pipe(self) -> None:
        with mock.patch.object(preprocess, "LIMIT_S", 0.2):
            self.assertIsNone(self.preprocessed("sleep 60 &\nexec sleep 60"))

    def test_it_takes_so_much_and_no_more(self) -> None:
        with mock.patch.object(preprocess, "OUTPUT_MAX", 1 << 20):
            self.assertIsNone(self.preprocessed("yes"))


if __name__ == "__main__":
    unittest.main()
