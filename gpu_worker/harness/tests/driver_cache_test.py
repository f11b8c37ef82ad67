"""Tests of the archive of the driver's code, without a driver: a file in the folder stands for the code."""

import io
import os
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from unittest import mock

import torch
from harness.children.job import Job
from harness.kernels import driver_cache


class DriverCacheTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.code, self.out, self.copy = (self.folder / name for name in ("code", "out", "copy"))
        (self.code / "a" / "2").mkdir(parents=True)
        self.out.mkdir()
        (self.code / "index").write_bytes(b"index")
        (self.code / "a" / "2" / "d882e9").write_bytes(b"machine code")
        self.enterContext(mock.patch.dict(os.environ, {driver_cache.FOLDER: str(self.code)}))

    def job(self) -> Job:
        return Job.from_order({"role": "driver_cache", "device": "cpu"}, self.folder, self.folder, self.out)

    def test_a_child_begins_with_the_code_that_another_one_has_compiled(self) -> None:
        with mock.patch.object(driver_cache, "calls", return_value=[mock.Mock()]):
            self.assertEqual(driver_cache.fill(self.job()), 0)
        driver_cache.copy_into(self.copy, self.out)
        self.assertEqual((self.copy / "index").read_bytes(), b"index")
        self.assertEqual((self.copy / "a" / "2" / "d882e9").read_bytes(), b"machine code")

    def test_a_call_that_fails_is_left_out(self) -> None:
        calls = [mock.Mock(), mock.Mock()]
        calls[0].run.side_effect = RuntimeError("no kernel")
        said = io.StringIO()
        with redirect_stderr(said):
            driver_cache.run_all(calls, self.job())
        self.assertIn("is left out: no kernel", said.getvalue())
        calls[1].run.assert_called_once()

    def test_every_call_can_be_made(self) -> None:
        for call in driver_cache.calls():
            call.run(torch.device("cpu"))

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
            driver_cache.copy_into(self.copy, self.out)
        self.assertIn("the driver's code is not unpacked", said.getvalue())


if __name__ == "__main__":
    unittest.main()
