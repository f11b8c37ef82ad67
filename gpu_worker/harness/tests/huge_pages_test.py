"""Tests that zygote/huge_pages.py asks for huge pages, moves memory into them, and changes nothing in it."""

import ctypes
import mmap
import os
import re
import subprocess
import sys
import unittest

from harness.children.runtime import ChildRuntime
from harness.zygote import huge_pages, malloc_thresholds

PR_GET_THP_DISABLE = 42


def flags_of(address: int) -> list[str]:
    """Returns the flags of the mapping that holds an address; "hg" says that the mapping asks for huge pages."""
    inside = False
    with open("/proc/self/smaps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            mapping = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
            if mapping:
                inside = int(mapping[1], 16) <= address < int(mapping[2], 16)
            elif inside and line.startswith("VmFlags:"):
                return line.split()[1:]
    raise AssertionError("nothing is mapped there")


def mapping_of(address: int) -> str:
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if begin <= address < end:
                return line.rstrip()
    raise AssertionError("nothing is mapped there")


def tell_of_heap() -> None:
    """Prints whether a large block lies in the heap, whether the heap asks for huge pages, and whether they are
    refused.
    """
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.prctl(huge_pages.PR_SET_THP_DISABLE, *(ctypes.c_ulong(value) for value in (1, 0, 0, 0)))
    malloc_thresholds.keep_freed_memory()
    huge_pages.enable_for_process()
    # The block may begin in memory that the heap had before, so its middle is looked at.
    middle = libc.malloc(ctypes.c_size_t(4 * huge_pages.HUGE_BYTES)) + 2 * huge_pages.HUGE_BYTES
    print(mapping_of(middle).endswith("[heap]"), "hg" in flags_of(middle), libc.prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0))


class HugePages(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.pages = huge_pages.HugePages(ChildRuntime(os.environ["KQ_TEST_STUB"]))
        cls.early = [float(i) for i in range(200_000)]
        cls.pages.finish_imports()
        cls.late = [float(i) for i in range(200_000)]

    def test_only_memory_allocated_before_the_imports_end_asks_for_huge_pages(self) -> None:
        setting = huge_pages.SETTING.read_text() if huge_pages.SETTING.exists() else ""
        if setting:
            self.assertIn("hg", flags_of(id(self.early[-1])))
            self.assertNotIn("hg", flags_of(id(self.late[-1])))
        refused = ctypes.CDLL(None).prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0)
        self.assertEqual(refused, int("[madvise]" in setting))

    def test_a_heap_asks_for_them_once_it_is_told_to(self) -> None:
        """The test runs in a process that is started as a zygote is."""
        code = "import huge_pages_test; huge_pages_test.tell_of_heap()"
        tunables = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
        told = subprocess.run(
            [sys.executable, "-c", code], env=tunables, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        self.assertEqual(told.split(), ["True", "True", "0"] if huge_pages.SETTING.exists() else ["True", "False", "0"])

    def test_what_lies_in_memory_stays(self) -> None:
        pattern = bytes(range(256)) * 16
        with mmap.mmap(-1, 4 * huge_pages.HUGE_BYTES, flags=mmap.MAP_PRIVATE) as memory:
            for at in range(0, len(memory), len(pattern)):
                memory[at : at + len(pattern)] = pattern
            self.pages.collapse()
            self.assertEqual(memory[:].count(pattern), len(memory) // len(pattern))

    def test_private_memory_without_a_file_is_meant_and_nothing_else(self) -> None:
        lines = {
            "7f3aadb80000-7f3ab2c00000 rw-p 00000000 00:00 0": True,
            "38e00000-3fa21000 rw-p 00000000 00:00 0                                  [heap]": True,
            "7ffdd2253000-7ffdd2275000 rw-p 00000000 00:00 0                          [stack]": False,
            "7fbd7a2de000-7fbd7a2f8000 rw-p 00100000 fe:00 102                        /usr/lib/libtorch_cpu.so": False,
            "7fbd7a2de000-7fbd7a2f8000 r--p 00000000 00:00 0": False,
            "7fbd7a2de000-7fbd7a2f8000 rw-s 00000000 00:01 7                          /memfd:page (deleted)": False,
        }
        for line, meant in lines.items():
            self.assertEqual(huge_pages.ANONYMOUS.fullmatch(line) is not None, meant, line)


if __name__ == "__main__":
    unittest.main()
