"""Tests which device code zygote/fat_binary.py copies, and how a copy describes it."""

import ctypes
import struct
import unittest

from harness.kernels import elf
from harness.kernels.elf import Section
from harness.zygote import fat_binary
from harness.zygote.fat_binary import ELF, PTX, Copy

WIDE = 1 << 24  # a flag that has nothing to do with compression


def compressed(code: bytes) -> bytes:
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_compress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(len(code) + 1024)
    size = zstd.ZSTD_compress(room, ctypes.c_size_t(len(room)), code, ctypes.c_size_t(len(code)), 3)
    return room.raw[:size]


def entry(kind: int, architecture: int, code: bytes, is_compressed: bool = True, flags: int = 0x11 | WIDE) -> bytes:
    """Returns an entry as nvcc 13.0 writes it, but for the code."""
    stored = compressed(code) if is_compressed else code
    body = stored + bytes(-len(stored) % 8)
    header = struct.pack("<HHIQII", kind, 0x101, 64, len(body), len(stored) if is_compressed else 0, 0)
    header += struct.pack("<HHIII", 8, 1, architecture, 0, 0)
    header += struct.pack("<QQQ", flags | 0x8000 * is_compressed, 0, len(code) if is_compressed else 0)
    return header + body


def fat(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def code_for(architecture: int) -> bytes:
    return f"code for {architecture};".encode() * 100


def copies_of(section: bytes, architecture: int) -> list[Copy]:
    """Returns the copies of a section that lies at 0x1000 in a library and at 24 in its file."""
    file = memoryview(bytes(24) + section)
    return fat_binary.copies(file, Section(0x1000, 24, len(section)), architecture)


def architectures(copy: Copy) -> list[tuple[int, bool]]:
    """Returns the architecture of each entry, and whether it is decompressed."""
    return [(struct.unpack_from("<I", each.header, 28)[0], each.is_compressed) for each in copy.entries]


class Copies(unittest.TestCase):
    def test_the_latest_code_that_the_gpu_can_run_is_decompressed(self) -> None:
        elves = [entry(ELF, each, code_for(each)) for each in (75, 80, 86, 90, 100)]
        ptx = entry(PTX, 100, b"ptx" * 50)
        cases = {
            90: [(90, True), (100, False)],
            89: [(80, False), (86, True), (100, False)],
            80: [(80, True), (100, False)],
            103: [(100, True), (100, False)],
        }
        for architecture, expected in cases.items():
            with self.subTest(architecture=architecture):
                (copy,) = copies_of(fat(*elves, ptx), architecture)
                self.assertEqual(architectures(copy), expected)
                self.assertEqual(copy.address, 0x1000)

    def test_two_variants_for_one_architecture_are_both_decompressed(self) -> None:
        (copy,) = copies_of(fat(*(entry(ELF, 90, code_for(90), flags=each) for each in (0x11, 0x100011))), 90)
        self.assertEqual(architectures(copy), [(90, True)] * 2)

    def test_the_header_of_a_copy_is_that_of_code_that_was_never_compressed(self) -> None:
        code = code_for(90) + b"odd"
        (copy,) = copies_of(fat(entry(ELF, 90, code)), 90)
        plain = fat(entry(ELF, 90, code, is_compressed=False))
        header = copy.header + copy.entries[0].header
        self.assertEqual(header, plain[: len(header)])
        self.assertEqual(copy.size, len(plain))

    def test_what_has_no_compressed_code_for_the_gpu_is_not_copied(self) -> None:
        others = [
            fat(entry(ELF, 90, code_for(90), is_compressed=False)),
            fat(entry(ELF, 80, code_for(80)), entry(PTX, 80, b"ptx" * 50)),
            fat(),
        ]
        for other in others:
            self.assertEqual(copies_of(other, 90), [])

    def test_each_fat_binary_of_a_section_is_found(self) -> None:
        first, second = fat(entry(ELF, 90, code_for(90))), fat(entry(ELF, 90, b"short" * 9))
        found = copies_of(first + bytes(24) + second + bytes(8), 90)
        self.assertEqual([each.address for each in found], [0x1000, 0x1000 + len(first) + 24])

    def test_another_version_is_an_error(self) -> None:
        whole = fat(entry(ELF, 90, code_for(90)))
        header, first = bytearray(whole), bytearray(whole)
        header[4] = 2
        first[19] = 2
        for other in (bytes(header), bytes(first), whole + b"unknown!" * 2, whole + bytes(128) + whole):
            with self.assertRaises(ValueError):
                copies_of(other, 90)

    def test_code_of_an_odd_size_is_an_error(self) -> None:
        odd = bytearray(entry(PTX, 90, b"ptx" * 50, is_compressed=False))
        size = struct.unpack_from("<Q", odd, 8)[0]
        odd[8:16] = struct.pack("<Q", size - 3)
        with self.assertRaises(ValueError):
            copies_of(fat(entry(ELF, 90, code_for(90)), bytes(odd[:-3]), bytes(3)), 90)

    def test_what_ends_beyond_its_section_is_an_error(self) -> None:
        whole = fat(entry(ELF, 90, code_for(90)))
        longer = bytearray(whole)
        longer[24:32] = struct.pack("<Q", len(whole))  # the bytes of the first entry's code
        more_stored = bytearray(whole)
        more_stored[32:36] = struct.pack("<I", len(whole))  # the bytes of its compressed code
        for broken in (whole[:-8], whole[:60], bytes(longer), bytes(more_stored)):
            with self.assertRaises(ValueError):
                copies_of(broken, 90)


class Sections(unittest.TestCase):
    def test_those_of_a_library_are_found(self) -> None:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            libc = next(line.split()[5] for line in maps if "libc.so.6" in line)
        with open(libc, "rb") as file:
            found = elf.sections(memoryview(file.read()))
        self.assertGreater(found[".text"].size, 1 << 20)
        self.assertNotIn(".nv_fatbin", found)

    def test_another_file_is_an_error(self) -> None:
        with self.assertRaises(ValueError):
            elf.sections(memoryview(b"#!/bin/sh\n" * 20))


if __name__ == "__main__":
    unittest.main()
