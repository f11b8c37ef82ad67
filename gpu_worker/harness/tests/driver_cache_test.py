"""Tests of the archive of the driver's code, without a driver: a file in the folder stands for the code."""

import io
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from unittest import mock

import torch
from harness.children.job import Job
from harness.kernels import driver_cache

EVERY_CALL = """
import torch
from harness.kernels import driver_cache

for call in driver_cache.calls():
    call.run(torch.device("cpu"))
"""


class DriverCacheTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "out"
        self.out.mkdir()
        driver, torch_folder = self.use_folders_in("code")
        (driver / "a").mkdir(parents=True)
        torch_folder.mkdir()
        (driver / "a" / "d882e9").write_bytes(b"machine code")
        (torch_folder / "reduction_prod").write_bytes(b"torch's code")

    def use_folders_in(self, name: str) -> list[Path]:
        """Sets the variables of this process, and returns the folders, which need not exist."""
        folders = [self.folder / name / kind for kind in ("driver", "torch")]
        variables = dict(zip(driver_cache.FOLDERS, map(str, folders)))
        self.enterContext(mock.patch.dict(os.environ, variables))
        return folders

    def job(self) -> Job:
        return Job.from_order({"role": "driver_cache", "device": "cpu"}, self.folder, self.folder, self.out)

    def test_a_child_begins_with_the_code_that_another_one_has_compiled(self) -> None:
        with mock.patch.object(driver_cache, "calls", return_value=[mock.Mock()]):
            self.assertEqual(driver_cache.fill(self.job()), 0)
        driver, torch_folder = self.use_folders_in("copy")
        driver_cache.begin(self.out)
        self.assertEqual((driver / "a" / "d882e9").read_bytes(), b"machine code")
        self.assertEqual((torch_folder / "reduction_prod").read_bytes(), b"torch's code")

    def test_a_child_without_an_archive_begins_with_empty_folders(self) -> None:
        folders = self.use_folders_in("none")
        driver_cache.begin(None)
        self.assertEqual([list(folder.iterdir()) for folder in folders], [[], []])

    def test_a_call_that_fails_is_left_out(self) -> None:
        calls = [mock.Mock(), mock.Mock()]
        calls[0].run.side_effect = RuntimeError("no kernel")
        said = io.StringIO()
        with redirect_stderr(said):
            driver_cache.run_all(calls, self.job())
        self.assertIn("is left out: no kernel", said.getvalue())
        calls[1].run.assert_called_once()

    def test_every_call_can_be_made(self) -> None:
        # The program is one of its own, because torch starts threads in it, and later tests fork.
        done = subprocess.run([sys.executable, "-c", EVERY_CALL], capture_output=True, text=True, timeout=200)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_call_for_which_memory_is_short_leaves_no_archive(self) -> None:
        call = mock.Mock()
        call.run.side_effect = torch.OutOfMemoryError("no room")
        with mock.patch.object(driver_cache, "calls", return_value=[call]):
            self.assertEqual(driver_cache.fill(self.job()), 1)
        self.assertFalse((self.out / driver_cache.ARCHIVE).exists())

    def test_a_damaged_archive_is_not_unpacked(self) -> None:
        (self.out / driver_cache.ARCHIVE).write_bytes(b"no archive")
        said = io.StringIO()
        with redirect_stderr(said):
            driver_cache.begin(self.out)
        self.assertIn("the driver's code is not unpacked", said.getvalue())


if __name__ == "__main__":
    unittest.main()
