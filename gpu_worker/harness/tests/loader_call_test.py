"""Tests how a call of load_inline or load is written down."""

import os
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from harness.extensions.loader_call import (
    FILES_MAX,
    FLAGS_MAX,
    FUNCTIONS_MAX,
    SOURCES_MAX,
    BadCall,
    Call,
    check_names,
    flags,
    inline_call,
    load_call,
)


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

    def test_included_files_of_the_submission_come_along(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root, "csrc/deep")
            folder.mkdir(parents=True)
            (folder / "k.cu").write_text('#include "impl.cpp"\n#include "../common.h"\n#include <vector>\n')
            (folder / "impl.cpp").write_text('#include "table.txt"\n#include "k.cu"\n')
            (folder / "table.txt").write_text("1")
            (folder / "unused.txt").write_text("2")
            (folder.parent / "common.h").write_text("int f();")
            for i in range(FILES_MAX):
                (folder / f"{i:02}.h").write_text("")
            found = load_call({"name": "m", "sources": [str(folder / "k.cu")]})
            self.assertEqual(found.sources, ["part0/k.cu"])
            names = [name for name, _ in found.files]
            self.assertEqual(names[:4], ["part0/k.cu", "part0/impl.cpp", "common.h", "part0/table.txt"])
            self.assertEqual(len(names), FILES_MAX)
            (folder / "impl.cpp").write_text("".join(f'#include "{i:02}.h"\n' for i in range(FILES_MAX)))
            with self.assertRaisesRegex(BadCall, "more than 64 files of its own"):
                load_call({"name": "m", "sources": [str(folder / "k.cu")]})
            (folder / "k.cu").write_text('#if 0\n#include "../../top.h"\n#endif\n')
            Path(root, "top.h").write_text("")
            found = load_call({"name": "m", "sources": [str(folder / "k.cu")]})
            self.assertNotIn("../top.h", [name for name, _ in found.files])

    def test_included_files_lie_where_the_compiler_looks(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            for name, text in (
                ("ext.cpp", ""),
                ("csrc/k.cu", '#include "impl.cpp"\n#include "../common.h"\n'),
                ("csrc/impl.cpp", ""),
                ("common.h", '#include "types.txt"\n'),
                ("types.txt", ""),
                ("other/common.h", "int other;"),
                ("other/b/m.cu", '#include "../common.h"\n'),
            ):
                path = Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            found = load_call({"name": "m", "sources": [f"{root}/ext.cpp", f"{root}/csrc/k.cu"]})
            names = {name for name, _ in found.files}
            self.assertLessEqual({"part1/k.cu", "part1/impl.cpp", "common.h", "types.txt"}, names)
            with self.assertRaisesRegex(BadCall, "rename one of the files common.h"):
                load_call({"name": "m", "sources": [f"{root}/csrc/k.cu", f"{root}/other/b/m.cu"]})

    def test_architectures_that_the_submission_sets_become_flags(self) -> None:
        for listed, given, flags_of_device in (
            ("", [], []),
            ("9.0a", ["-O3"], ["-O3", "-gencode=arch=compute_90a,code=sm_90a"]),
            ("7.0", [], ["-gencode=arch=compute_70,code=sm_70"]),
            ("9.0a", ["-arch=sm_90"], ["-arch=sm_90"]),
        ):
            with mock.patch.dict(os.environ, {"TORCH_CUDA_ARCH_LIST": listed}):
                self.assertEqual(call(cuda_sources="int a;", extra_cuda_cflags=given).cuda_cflags, flags_of_device)
                self.assertEqual(call(cpp_sources="int a;").cuda_cflags, [])
        with mock.patch.dict(os.environ, {"TORCH_CUDA_ARCH_LIST": "9.9"}):
            with self.assertRaisesRegex(ValueError, "Unknown CUDA arch"):
                call(cuda_sources="int a;")

    def test_the_name_of_a_library_that_is_no_module_may_be_any_word(self) -> None:
        check_names(Call(name="my-ops.2", inline=True, is_python_module=False))
        for named in (
            Call(name="my-ops", inline=True),
            Call(name="my-ops", inline=True, is_python_module=False, cpp=["TORCH_EXTENSION_NAME"]),
            Call(name="my;ops", inline=True, is_python_module=False),
        ):
            with self.assertRaises(BadCall):
                check_names(named)

    def test_headers_of_the_submission_come_along(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "mine.h").write_text("int f();")
            Path(folder, "data.txt").write_text("1")
            found = call(cpp_sources='#include "mine.h"', extra_include_paths=[folder, "/usr/include"])
        self.assertEqual(found.files, [["part0/mine.h", "int f();"]])
        self.assertEqual(found.include_paths, ["part0", "/usr/include"])


if __name__ == "__main__":
    unittest.main()
