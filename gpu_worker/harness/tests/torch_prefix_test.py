"""Tests prefixes of torch's headers with small headers in place of torch's, and builds with and without them."""

import ctypes
import dataclasses
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import torch
from harness.children.job import Job
from harness.extensions import compile_child, torch_prefix
from harness.extensions.builder import ExtensionBuilder
from harness.extensions.cuda.nvcc_headers import find_edits, without_edits
from harness.extensions.header_bodies import Unreadable, without_bodies
from harness.extensions.loader_call import Call
from harness.extensions.memory_room import MemoryRoom
from harness.extensions.toolchain import STANDARD, find_toolchain, run
from harness.extensions.torch_prefix import (
    ARCHIVE,
    HOST_FLAGS,
    LeadingHeaders,
    NotMade,
    find_prefix,
    macros_of,
    make_prefix,
)

EXTENSION = """#pragma once  // COMMENTED
#include <c10/shape.h>
#ifdef DOUBLED
#define FACTOR 2
#else
#define FACTOR 1
#endif
namespace torch {
template <class T> T scaled(T value) { return value * FACTOR; }
inline int area(const Shape& shape) { return scaled(shape.width() * shape.height()); }
}
"""
SHAPE = """#pragma once
namespace torch {
struct Shape {
  Shape(int width, int height) : width_(width), height_{height} {}
  virtual ~Shape() {}
  virtual int width() const { return width_; }
  int height() const;
  static constexpr int corners() { return 4; }
 private:
  int width_, height_;
};
inline int Shape::height() const { return height_; }
}
"""
SOURCE = """#include <torch/extension.h>
extern "C" int area(int width, int height) {
  static_assert(torch::Shape::corners() == 4);
  return torch::area(torch::Shape(width, height));
}
"""


class Bodies(unittest.TestCase):
    def test_bodies_that_a_source_cannot_need_are_left_out(self) -> None:
        for text, expected in (
            ("struct A { int f() const { return 1; } };", "struct A { int f() const ; };"),
            ("struct A { A(int n) : a(n), b{n} { f(); } int a, b; };", "struct A { A(int n) ; int a, b; };"),
            ("int A::f() { return 1; } int n;", "; int n;"),
            ("inline bool operator<(A a, A b) { return true; }", "inline bool operator<(A a, A b) ;"),
            ("namespace a { inline int f()\n{\n} }", "namespace a { inline int f()\n;\n }"),
            ("struct B f() { return {}; }", "struct B f() ;"),
        ):
            self.assertEqual(without_bodies(text), expected)

    def test_bodies_that_a_source_may_need_stay(self) -> None:
        for text in (
            "template <class T> T f(T x) { return x; }",
            "template <class T> struct A { int f() { return 1; } };",
            "constexpr int f() { return 1; }",
            "static int f() { return 1; }",
            "static int f(int n); inline int f(int n) { return n; }",
            "namespace { int f() { return 1; } }",
            "auto f() { return 1; }",
            "__attribute__((always_inline)) inline int f() { return 1; }",
            "int numbers[] = {1, 2};",
            "auto f = [] { return 1; };",
            "enum class E { a, b };",
        ):
            self.assertEqual(without_bodies(text), text)

    def test_a_text_with_open_brackets_is_refused(self) -> None:
        for text in ("int f() {", "}"):
            with self.assertRaises(Unreadable):
                without_bodies(text)


class Notes(unittest.TestCase):
    MEMBER = "struct A { int f() const { return 1; }\n int n; };\n"
    HOST = "template <class T> int g(T x) {\n return 2; }\n"
    DEVICE = "template <class T> __attribute__((device)) int h(T x) { return 3; }\n"

    def text(self, *headers: tuple[str, str], source: str = "int k() { return 4; }\n") -> str:
        parts = [f'# 1 "{name}" 1\n{text}# 2 "a.cu" 2\n' for name, text in headers]
        return "".join(['# 1 "a.cu"\n', *parts, source])

    def test_known_segments_lose_their_bodies_in_any_order(self) -> None:
        a, b = ("/torch/a.h", self.MEMBER), ("/torch/b.h", self.HOST + self.DEVICE)
        for name, kept in (("host", ("return 2", "return 3", "return 4")), ("device", ("return 3", "return 4"))):
            edits = find_edits(self.text(a, b), name, ("/torch/",))
            for headers in ((a, b), (b, a), (a,)):
                text = self.text(*headers)
                made = without_edits(text, edits)
                self.assertNotIn("return 1", made)
                self.assertEqual(made.count("\n"), text.count("\n"), "lines stay where they are")
                self.assertEqual({word for word in kept if word in text}, {word for word in kept if word in made})
            self.assertEqual("return 2" in without_edits(self.text(b), edits), name == "host")

    def test_other_segments_stay_as_they_are(self) -> None:
        edits = find_edits(self.text(("/torch/a.h", self.MEMBER), ("/cuda/c.h", self.HOST)), "device", ("/torch/",))
        for header in (("/torch/a.h", self.MEMBER + "int m;\n"), ("/cuda/c.h", self.HOST), ("own.h", self.MEMBER)):
            text = self.text(header)
            self.assertEqual(without_edits(text, edits), text)

    def test_a_text_that_is_read_in_two_ways_keeps_its_bodies(self) -> None:
        part = "int f() { return 1; }\n"
        text = f'# 1 "a.cu"\n# 1 "/torch/a.h" 1\n{part}# 2 "/torch/b.h" 2\ntemplate <class T> struct A {{\n'
        text += f'# 1 "/torch/a.h" 1\n{part}# 4 "/torch/b.h" 2\n}};\n'
        self.assertEqual(without_edits(text, find_edits(text, "host", ("/torch/",))), text)


class Prefixes(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        script = "#include <torch/extension.h>\n"
        for name, text in (("torch/extension.h", EXTENSION), ("c10/shape.h", SHAPE), ("torch/script.h", script)):
            (self.root / "torch/include" / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / "torch/include" / name).write_text(text)
        self.tools = dataclasses.replace(find_toolchain(), torch_root=self.root / "torch", nvcc="", cuda=None)

    def job(self, name: str, shared: Path | None = None) -> Job:
        for part in ("src", "work", "out"):
            (self.root / name / part).mkdir(parents=True)
        parts = [self.root / name / part for part in ("src", "src", "work", "out")]
        return Job("compile", torch.device("cpu"), "torch_cuda", *parts, "", "", None, "sm_90", shared=shared)

    def make(self, variant: str) -> Path:
        """Makes a prefix or the archive, and returns the folder of all."""
        prefixes = self.root / "prefixes"
        prefixes.mkdir(exist_ok=True)
        make_prefix(self.job(f"making-{variant}"), self.tools, variant)
        (self.root / f"making-{variant}/out").rename(prefixes / variant)
        return prefixes

    def test_the_bodies_are_compiled_in_as_many_parts_as_can_be_compiled_at_once(self) -> None:
        found = [torch_prefix.archive_parts(*each) for each in ((2, 99_999), (8, 16_384), (12, 16_384), (12, 4_096))]
        self.assertEqual(found, [2, 8, 10, 2])

    def test_a_source_is_compiled_with_it_and_linked_with_the_bodies(self) -> None:
        self.make("extension-O1")
        with mock.patch.object(torch_prefix, "archive_parts", return_value=3):
            job = self.job("build", self.make("bodies-O1"))
        prefix = find_prefix(job, "extension", "O1")
        assert prefix is not None and prefix.archive is not None
        objects = run(["ar", "t", str(prefix.archive)], self.root).text.split()
        self.assertEqual(objects, ["bodies0.o", "bodies1.o", "bodies2.o"], "the bodies are compiled in parts")
        self.assertNotIn("return width_", (prefix.folder / "header.h").read_text())
        source = self.root / "source.cpp"
        source.write_text(SOURCE)
        flags = [*prefix.flags(self.root), *HOST_FLAGS, *self.tools.includes(False), STANDARD, "-O1"]
        compiled = run([self.tools.cxx, *flags, "-c", str(source), "-o", str(self.root / "a.o")], self.root)
        self.assertEqual(compiled.code, 0, compiled.text)
        words = ["-Wl,--gc-sections", f"-Wl,--exclude-libs,{ARCHIVE}", "-Wl,-z,defs"]
        library = self.root / "a.so"
        linked = run(
            [self.tools.cxx, "-shared", *words, str(self.root / "a.o"), str(prefix.archive), "-o", str(library)],
            self.root,
        )
        self.assertEqual(linked.code, 0, linked.text)
        self.assertEqual(ctypes.CDLL(str(library)).area(3, 4), 12)
        exported = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True).stdout
        self.assertNotIn("Shape", exported, "the bodies are hidden")

        builder = ExtensionBuilder.__new__(ExtensionBuilder)
        builder.used = {"extension": prefix}
        for name, is_body in (
            ("torch::Shape::width() const", True),
            ("vtable for torch::Shape", True),
            ("c10::cuda::currentStream(signed char)", False),
        ):
            for form in (f"undefined symbol: {name}\n>>> referenced by a", f"a.o: undefined reference to `{name}'"):
                log = f"undefined symbol: c10::cuda::anotherStream()\n{form}"
                self.assertEqual(builder.missing_body(log) != "", is_body, form)

        (self.root / "again").mkdir()
        for flag, is_same in (("-DDOUBLED=1", False), ("-Dwidth_=1", False), ("-DNAMED_NOWHERE", True)):
            words = [*HOST_FLAGS, *self.tools.includes(False), STANDARD, "-O1", flag]
            self.assertEqual(prefix.is_same_text(self.tools, words, [], self.root / "again"), is_same, flag)
        self.assertFalse(prefix.is_same_text(self.tools, words, ["#define DOUBLED"], self.root / "again"))
        self.assertTrue(prefix.is_same_text(self.tools, words, ["#define COMMENTED 1"], self.root / "again"))

        for flag, is_usable in (("-O2", True), ("-DOTHER=1", True), ("-DDOUBLED", False), ("-DCOMMENTED", False)):
            macros = macros_of(self.tools, [*HOST_FLAGS, STANDARD, "-O1", flag], self.root)
            self.assertEqual(prefix.is_unchanged_by(macros, set()), is_usable, flag)

    def test_a_prefix_tells_errors_before_the_archive_is_there(self) -> None:
        shared = self.make("extension-O1")
        for name, source, folders in (
            ("bad", SOURCE.replace("width, int", "int"), ["host-extension-O1"]),
            ("good", SOURCE, ["host", "host-extension-O1"]),
        ):
            call = Call(name=name, inline=True, cpp=[source])
            builder = ExtensionBuilder(self.job(name, shared), call)
            builder.tools = self.tools
            builder.compile_and_link()
            made = sorted(path.name for path in (self.root / name / "work").iterdir() if path.name.startswith("host"))
            self.assertEqual(made, folders, "what compiles is compiled again with the headers as they are")
            self.assertEqual(builder.used != {}, name == "bad")

    def test_flags_that_change_the_headers_have_their_own(self) -> None:
        for variant in ("extension-O1", "extension-O1-fast-ndebug", "bodies-O1"):
            shared = self.make(variant)
        for name, flags, folders in (
            ("without", ["-O2"], ["host-extension-O1"]),
            ("with", ["-DNDEBUG", "-g", "-ffast-math"], ["host-extension-O1-fast-ndebug"]),
        ):
            job = self.job(name, shared)
            (job.source / "variant").write_text("O1-fast-ndebug")
            builder = ExtensionBuilder(job, Call(name=name, inline=True, cpp=["int f() { return"], cflags=flags))
            builder.tools = self.tools
            builder.compile_and_link()
            made = sorted(path.name for path in job.work.iterdir() if path.name.startswith("host"))
            self.assertEqual(made, folders)
        words = [*HOST_FLAGS, STANDARD, "-O1", "-Winvalid-pch", "-Werror", "-ffast-math", "-DNDEBUG"]
        prefix = shared / "extension-O1-fast-ndebug/header.h"
        (self.root / "empty.cpp").touch()
        words = [word for word in words if word != "-w"]
        found = run([self.tools.cxx, *words, "-include", str(prefix), "-c", "empty.cpp"], self.root)
        self.assertEqual(found.code, 0, found.text)

    def test_folders_may_have_blanks(self) -> None:
        make_prefix(self.job("a folder"), self.tools, "extension-O1")
        names = (self.root / "a folder/out/header.files").read_text().splitlines()
        self.assertEqual(names, ["c10/shape.h", "torch/extension.h"])

    def test_headers_that_do_not_compile_make_none(self) -> None:
        (self.root / "torch/include/c10/shape.h").write_text("#pragma once\nstruct Shape { int f() { }\n")
        with self.assertRaises(NotMade):
            make_prefix(self.job("bad"), self.tools, "extension-O1")
        with self.assertRaisesRegex(NotMade, "the prefixes are extension, all, "):
            make_prefix(self.job("unknown"), self.tools, "other-O1")

    def test_only_includes_may_precede_the_header(self) -> None:
        for text, names, defines in (
            (
                "// a\n#include <a.h>\n#define N 3\n#include <torch/extension.h>\nint n;\n#include <b.h>",
                ["a.h", "torch/extension.h"],
                ["#define N 3"],
            ),
            ("int n;\n#include <torch/extension.h>", [], []),
            ("#if 0\n#include <torch/extension.h>", [], []),
            ("#define F(x) \\\n x\n#pragma GCC diagnostic push\n#include <b.h>", ["b.h"], ["#define F(x)  x"]),
            ("#include <cuda.h>\n#include <torch/torch.h> // all\n", ["cuda.h", "torch/extension.h"], []),
        ):
            found = LeadingHeaders(text)
            self.assertEqual((found.names, found.defines), (names, defines), text)

    def test_headers_of_the_source_are_followed(self) -> None:
        guarded = "#ifndef OPS_H\n#define OPS_H\n#include <torch/extension.h>\n{}\n#endif  // OPS_H\n"
        source = '#include "ops.h"\n#include <a.h>'
        for files, names in (
            ({"part0/ops.h": guarded.format("")}, ["torch/extension.h", "a.h"]),
            ({"part0/ops.h": guarded.format("int n;")}, ["torch/extension.h"]),
            ({"part0/ops.h": "#pragma once\nint n;\n#include <torch/extension.h>"}, []),
            (
                {"part0/ops.h": '#include "ops.h"\n#include "sub/b.h"', "part0/sub/b.h": "#include <b.h>"},
                ["b.h", "a.h"],
            ),
            ({"part0/ops.h": "#ifndef A\n#define B\n#include <torch/extension.h>\n#endif"}, []),
            ({}, ["ops.h", "a.h"]),
        ):
            self.assertEqual(LeadingHeaders(source, "part0", ["part0"], files).names, names, str(files))
        twice = "#define OPS_H\n" + source
        self.assertEqual(LeadingHeaders(twice, "part0", ["part0"], {"part0/ops.h": guarded.format("")}).names, [])

    def test_an_error_of_the_cpp_unit_ends_the_build_before_nvcc_starts(self) -> None:
        job = self.job("fails")
        call = Call("m", True, cpp=["int n = lenght;"], cuda=["__global__ void k() {}"], implicit_headers=False)
        (job.source / "call.json").write_text(call.text())
        self.assertEqual(compile_child.main(job), 0)
        self.assertEqual((job.out / "status").read_text(), "failed\n")
        self.assertIn("‘lenght’ was not declared", (job.out / "message").read_text())
        self.assertTrue((job.out / "final").exists(), "the same source fails likewise")
        self.assertFalse(list(job.work.rglob("*.cu*")) + list(job.out.glob("log-split")))

    def test_texts_of_the_two_languages_are_never_joined(self) -> None:
        job = self.job("apart")
        cuda = "int twice(int n) { return 2 * n; }\n__global__ void k() {}"
        module = "#define PYBIND11_MODULE(name, m) void name(Module& m)\nstruct Module { void def(...) {} };"
        call = Call("m", True, cpp=[module], cuda=[cuda], functions=[["twice", ""]], implicit_headers=False)
        call.error_handling = False
        (job.source / "call.json").write_text(call.text())
        self.assertEqual(compile_child.main(job), 0)
        self.assertIn("‘twice’ was not declared", (job.out / "message").read_text())


class Memory(unittest.TestCase):
    def test_steps_that_do_not_fit_run_one_after_the_other(self) -> None:
        room = MemoryRoom(100)
        with room.take(60), room.take(40):
            self.assertEqual(room.taken, 100)
        began = threading.Event()

        def large() -> None:
            with room.take(500):
                began.set()

        with room.take(10):
            thread = threading.Thread(target=large)
            thread.start()
            self.assertFalse(began.is_set())
        thread.join()
        self.assertTrue(began.is_set(), "a step larger than the room runs alone")


if __name__ == "__main__":
    unittest.main()
