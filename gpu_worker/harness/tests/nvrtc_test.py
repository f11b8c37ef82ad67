"""Which NVRTC is opened: the toolkit's, or the same one where torch has it in memory."""

import shutil
import tempfile
import unittest
from pathlib import Path

from harness.kernels import nvrtc

NOTE = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"


class NvrtcTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="kq-nvrtc.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def library(self, name: str, named: bytes, more: bytes = b"") -> Path:
        path = self.folder / name
        path.write_bytes(b"\x7fELF" + NOTE + named.ljust(20, b".") + more)
        return path

    def test_a_copy_is_the_same_library_and_another_build_or_length_is_not(self) -> None:
        one = self.library("one", b"a")
        self.assertTrue(nvrtc.is_same(one, Path(shutil.copy(one, self.folder / "copy"))))
        self.assertFalse(nvrtc.is_same(one, self.library("other", b"b")))
        self.assertFalse(nvrtc.is_same(one, self.library("longer", b"a", b"!")))

    def test_what_has_no_name_of_its_content_is_the_same_as_itself_alone(self) -> None:
        one, other = self.folder / "one", self.folder / "other"
        one.write_bytes(b"text")
        other.write_bytes(b"text")
        self.assertTrue(nvrtc.is_same(one, one))
        self.assertFalse(nvrtc.is_same(one, other))
        self.assertFalse(nvrtc.is_same(one, self.folder / "gone"))

    def test_what_nobody_has_loaded_is_not_in_memory(self) -> None:
        self.assertIsNone(nvrtc.loaded_library(self.library("libnvrtc.so.99", b"a")))


if __name__ == "__main__":
    unittest.main()
