"""Tests that zygote/shared_code.py gives a library decompressed copies of its device code, which no process can change
for another one. Each test loads a library of its own, which gcc or nvcc makes, in a process of its own.
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fat_binary_test import code_for, entry, fat
from harness.zygote import fat_binary
from harness.zygote.fat_binary import ELF, HEADER, PTX

HARNESS = Path(__file__).resolve().parents[2]
LIMIT_S = 100

# A library with the sections that nvcc makes. kq_now() returns where its wrapper points.
LIBRARY = """
__asm__(".section .nv_fatbin, \\"a\\"\\n.align 8\\nkq_fat: .incbin \\"fat\\"\\n.previous\\n");
extern const char kq_fat __asm__("kq_fat");
static struct {{ int magic, version; const void* data; void* unused; }} wrapper
    __attribute__((section(".nvFatBinSegment"), aligned(8))) = {{{magic}, 1, &kq_fat, 0}};
const void* kq_now(void) {{ return *(const void* volatile*)&wrapper.data; }}
const void* kq_first(void) {{ return &kq_fat; }}
"""

# Shares the code of the library in argv, which begins with kqcase, and prints what the program in argv says.
PROGRAM = """
import ctypes, os, sys
from harness.zygote import shared_code
shared_code.LIBRARIES, shared_code.CUDNN = ("kqcase",), "kqcase-none"
library = ctypes.CDLL(sys.argv[1])
for name in ("kq_now", "kq_first"):
    getattr(library, name).restype = ctypes.c_void_p
try:
    size = shared_code.share(90, 1 << 20)
except shared_code.NoSharedCode as error:
    print("none:", error)
    size = 0
is_changed = library.kq_now() != library.kq_first()
exec(sys.argv[2])
"""
PRINT_CODE = "sys.stdout.write((ctypes.string_at(library.kq_now(), size) if is_changed else b'').hex())"

# A fork of this process makes the copies writable and writes to them.
WRITE = """
libc = ctypes.CDLL(None, use_errno=True)
page = library.kq_now() // 4096 * 4096
pid = os.fork()
if pid == 0:
    done = libc.mprotect(ctypes.c_void_p(page), 4096, 3)
    if done == 0:
        ctypes.memset(page, 0xFF, 4096)
    os._exit(0)
os.waitpid(pid, 0)
print(is_changed, ctypes.string_at(page, 4) == bytes([0x50, 0xED, 0x55, 0xBA]))
for fd in range(3, 256):
    if os.path.islink(f"/proc/self/fd/{fd}") and "kq_device_code" in os.readlink(f"/proc/self/fd/{fd}"):
        print("a descriptor of the copies is open")
"""


def elf_entry(code: bytes) -> bytes:
    """Returns the header and the code of the ELF file in a fat binary."""
    first = HEADER.size
    for at, fields in fat_binary.raw_entries(memoryview(code), first, first + HEADER.unpack_from(code)[3]):
        if fields[0] == ELF:
            return code[at : at + fields[2] + fields[3]]
    raise AssertionError("the fat binary has no ELF file")


class SharedCode(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def library(self, code: bytes, magic: int = 0x466243B1) -> Path:
        (self.folder / "fat").write_bytes(code)
        (self.folder / "library.c").write_text(LIBRARY.format(magic=magic))
        path = self.folder / "kqcase.so"
        command = ["gcc", "-shared", "-fPIC", "-o", str(path), "library.c"]
        subprocess.run(command, cwd=self.folder, check=True, timeout=LIMIT_S)
        return path

    def run_with(self, library: Path, program: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(library), program],
            env=os.environ | {"PYTHONPATH": str(HARNESS)},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def test_a_library_gets_a_decompressed_copy(self) -> None:
        ptx = entry(PTX, 100, b"ptx" * 50)
        code = fat(entry(ELF, 80, code_for(80)), entry(ELF, 90, code_for(90)), ptx)
        expected = fat(entry(ELF, 90, code_for(90), is_compressed=False), ptx)
        shared = bytes.fromhex(self.run_with(self.library(code), PRINT_CODE))
        self.assertEqual(shared[: len(expected)], expected)
        self.assertEqual(shared[len(expected) :].strip(b"\0"), b"")

    def test_no_process_can_change_the_copies_of_another(self) -> None:
        library = self.library(fat(entry(ELF, 90, code_for(90) * 10)))
        self.assertEqual(self.run_with(library, WRITE), "True True\n")

    def test_code_that_zstd_cannot_decompress_stays(self) -> None:
        broken = bytearray(fat(entry(ELF, 90, code_for(90))))
        broken[80:84] = b"none"
        told = self.run_with(self.library(bytes(broken)), "print(is_changed)")
        self.assertIn("none: a process that decompresses device code failed\nFalse\n", told)
        self.assertIn("zstd refuses", told)

    def test_a_library_that_looks_otherwise_stays(self) -> None:
        whole = fat(entry(ELF, 90, code_for(90)))
        longer = bytearray(whole)
        longer[24:32] = struct.pack("<Q", len(whole))
        told = self.run_with(self.library(bytes(longer)), "print(is_changed, size)")
        self.assertIn("False 0\n", told)
        self.assertIn("kqcase.so keeps its compressed code: the entry at", told)
        told = self.run_with(self.library(whole, magic=7), "print(is_changed)")
        self.assertEqual(told, "none: no library has compressed code of a known form for this GPU\nFalse\n")

    def test_nothing_is_copied_beyond_the_limit(self) -> None:
        library = self.library(fat(entry(ELF, 90, b"x" * (2 << 20))))
        told = self.run_with(library, "print(is_changed)")
        self.assertRegex(told, r"^none: decompressed it would have 20\d+ bytes, .* may spend 1048576 on it\nFalse\n$")

    def test_a_zygote_does_so_for_the_architecture_that_it_is_told(self) -> None:
        """The limit of one byte makes the zygote say what it has found; it starts all the same."""
        code = "from world import Zygote; z = Zygote(more=('--arch', 'sm_90', '--shared-code-bytes', '1')); z.close()"
        program = [sys.executable, "-c", code]
        done = subprocess.run(program, capture_output=True, text=True, timeout=LIMIT_S, check=True)
        self.assertRegex(
            done.stderr,
            "device code stays as it is: (decompressed it would have [0-9]+ bytes|no library has compressed)",
        )

    @unittest.skipUnless(shutil.which("nvcc"), "nvcc is not installed, so no library has code that nvcc compressed")
    def test_a_copy_of_what_nvcc_compressed_is_what_nvcc_writes_uncompressed(self) -> None:
        (self.folder / "k.cu").write_text(
            "__global__ void k(float* a) { a[threadIdx.x] += 1; }\n"
            'extern "C" void launch(float* a) { k<<<1, 1>>>(a); }\n'
        )
        made = {}
        for mode in ("size", "none"):
            path = self.folder / f"{mode}.fatbin"
            targets = [f"-gencode=arch=compute_90,code={each}" for each in ("sm_90", "compute_90")]
            command = ["nvcc", "-fatbin", *targets, f"--compress-mode={mode}", "-o", str(path), "k.cu"]
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S)
            if "Unknown option" in done.stderr:
                self.skipTest(f"this nvcc knows no --compress-mode: {done.stderr}")
            self.assertEqual(done.returncode, 0, done.stderr)
            made[mode] = path.read_bytes()
        shared = bytes.fromhex(self.run_with(self.library(made["size"]), PRINT_CODE))
        self.assertEqual(elf_entry(shared), elf_entry(made["none"]))
        self.assertNotIn(b"\x7fELF", made["size"])


if __name__ == "__main__":
    unittest.main()
