"""Tests how a call of load_inline or load is written down."""

import tempfile
import unittest
from pathlib import Path
from typing import Any

from harness.extensions.loader_call import FLAGS_MAX, FUNCTIONS_MAX, SOURCES_MAX, BadCall, flags, inline_call


def call(**arguments: Any) -> Any:
    return inline_call({"name": "m", "cpp_sources": "", **arguments})


class ExtensionCall(unittest.TestCase):
    def test_flags_are_words(self) -> None:
        for given, words in (
            (["-O3"], ["-O3"]),
            ("-O2 -DN=4\n-g", ["-O2", "-DN=4", "-g"]),
            (["-Xcompiler '-fPIC -O3'"], ["-Xcompiler", "-fPIC,-O3"]),
            (["-Xcompiler", "'-fPIC -O3'"], ["-Xcompiler", "-fPIC,-O3"]),
            (["-Xcompiler='-fPIC -O3'"], ["-Xcompiler=-fPIC,-O3"]),
            (['-DNAME="small"', "-D'X"], ['-DNAME="small"', "-D'X"]),
            (["'-O2 -g'"], ["-O2", "-g"]),
            ("-O2\u00a0-g", ["-O2", "-g"]),
        ):
            self.assertEqual(flags(given, "extra_cflags"), words)

    def test_flags_that_another_reader_would_split_elsewhere_are_refused(self) -> None:
        for given in ("-DX=\u00e9", "-DX=\x01", ["-O2"] * (FLAGS_MAX + 1), "-D" + "X" * 1100):
            with self.subTest(given), self.assertRaises(BadCall):
                flags(given, "extra_cflags")

    def test_there_are_so_many_sources_and_functions_and_no_more(self) -> None:
        self.assertEqual(len(call(cpp_sources=[""] * SOURCES_MAX).cpp), SOURCES_MAX)
        for arguments in (
            {"cpp_sources": [""] * 1_900_000},
            {"cuda_sources": [""] * (SOURCES_MAX + 1)},
            {"functions": ["f"] * (FUNCTIONS_MAX + 1)},
        ):
            with self.assertRaises(BadCall):
                call(**arguments)

    def test_a_call_without_its_name_is_the_same(self) -> None:
        one, other = call(name="m_1", cpp_sources="int f();"), call(name="m_2", cpp_sources="int f();")
        self.assertNotEqual(one.key(), other.key())
        self.assertEqual(one.similar_key(), other.similar_key())
        self.assertNotEqual(one.similar_key(), call(name="m_1", cpp_sources="int g();").similar_key())

    def test_wrong_arguments_raise_what_torch_raises(self) -> None:
        for arguments, kind, words in (
            ({"functions": ("f",)}, ValueError, "Expected 'functions' to be a list or dict, but was <class 'tuple'>"),
            ({"cpp_sources": None}, AttributeError, "'NoneType' object has no attribute 'insert'"),
            ({"cpp_sources": ("int f();",)}, AttributeError, "'tuple' object has no attribute 'insert'"),
            ({"cpp_sources": None, "no_implicit_headers": True}, TypeError, "can only join an iterable"),
            ({"cpp_sources": [1]}, TypeError, "sequence item 0: expected str instance, int found"),
            ({"cuda_sources": 3}, AttributeError, "'int' object has no attribute 'insert'"),
            ({"extra_cflags": [3]}, TypeError, "sequence item 0: expected str instance, int found"),
            ({"extra_cflags": 3}, TypeError, "'int' object is not iterable"),
            ({"name": 3}, TypeError, "not 'int'"),
        ):
            with self.subTest(arguments), self.assertRaisesRegex(kind, words):
                call(**arguments)
        self.assertEqual(call(cpp_sources=("int f();",), no_implicit_headers=True).cpp, ["int f();"])

    def test_latin_1_is_read_from_files_and_undecoded_bytes_raise_what_torch_raises(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "mine.h")
            path.write_bytes(b"// caf\xe9")
            found = call(cuda_sources=path.read_text("latin-1"), extra_include_paths=[folder])
            undecoded = path.read_text(errors="surrogateescape")
        self.assertEqual((found.cuda, found.files), (["// caf\u00e9"], [["part0/mine.h", "// caf\u00e9"]]))
        for what in ("cpp_sources", "cuda_sources"):
            with self.assertRaisesRegex(UnicodeEncodeError, "surrogates not allowed"):
                call(**{what: undecoded})

    def test_headers_of_the_submission_come_along(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "mine.h").write_text("int f();")
            Path(folder, "data.txt").write_text("1")
            found = call(cpp_sources='#include "mine.h"', extra_include_paths=[folder, "/usr/include"])
        self.assertEqual(found.files, [["part0/mine.h", "int f();"]])
        self.assertEqual(found.include_paths, ["part0", "/usr/include"])


if __name__ == "__main__":
    unittest.main()
