"""harness/huge_pages.py moves memory and changes nothing in it."""

import mmap
import unittest

from harness import huge_pages


class HugePages(unittest.TestCase):
    def test_what_lies_in_memory_stays(self) -> None:
        pattern = bytes(range(256)) * 16
        with mmap.mmap(-1, 4 * huge_pages.HUGE_BYTES, flags=mmap.MAP_PRIVATE) as memory:
            for at in range(0, len(memory), len(pattern)):
                memory[at : at + len(pattern)] = pattern
            huge_pages.collapse()
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
