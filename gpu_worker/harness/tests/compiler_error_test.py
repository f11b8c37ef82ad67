"""Tests which compiler errors end a build at once, and which are left to the way that uses the headers as they are."""

import tempfile
import unittest
from pathlib import Path

import torch
from harness.children.job import Job
from harness.extensions import compile_child
from harness.extensions.compiler_error import is_source_error, words_of
from harness.extensions.loader_call import Call

NAMES = words_of(b"namespace torch { struct Tensor; }\n#define CHECK_IT(x) check(x)\n")
TWO = ["int f() { return g(lenght); }", "#include <torch/extension.h>\n#include <cub/cub.cuh>\nint g(int);"]


class CompilerErrorExcerpt(unittest.TestCase):
    def own(
        self, words: str, compiled: str | None = None, source: list[str] | None = None, flags: tuple[str, ...] = ()
    ) -> bool:
        source = source or TWO
        return is_source_error(
            words, source, "\n".join(source) if compiled is None else compiled, NAMES, ["torch/extension.h"], flags
        )

    def test_an_unknown_name_that_nothing_left_out_can_have_is_the_sources_own(self) -> None:
        for words in (
            "‘lenght’ was not declared in this scope; did you mean ‘length’?",
            'identifier "lenght" is undefined',
            "‘lenght’ is not a member of ‘torch’",
            "‘struct torch::Tensor’ has no member named ‘lenght’",
            'class "torch::Tensor" has no member "lenght"',
            "‘lenght’ does not name a type",
        ):
            self.assertTrue(self.own(words), words)

    def test_whatever_may_come_of_what_was_left_out_is_not(self) -> None:
        unknown = 'identifier "lenght" is undefined'
        self.assertFalse(self.own('identifier "Tensor" is undefined'), "a header has it")
        self.assertFalse(self.own("‘CHECK_IT’ was not declared in this scope"), "a header's macro")
        self.assertFalse(self.own('identifier "__shfl" is undefined'), "compilers know such")
        self.assertFalse(self.own("expected ‘;’ before ‘return’"), "an unknown macro could be the cause")
        self.assertFalse(self.own(unknown, compiled=TWO[0]), "an include of another header is missing")
        self.assertFalse(
            self.own(unknown, source=[*TWO, "int lenght;"], compiled="\n".join(TWO)), "that part was left out"
        )
        self.assertFalse(self.own(unknown, flags=("-Dlenght=3",)), "a flag defines it")
        self.assertTrue(self.own(unknown, compiled=TWO[0] + "\n#include <cub/cub.cuh>"), "the header left out is known")

    def ways(self, source: str, functions: list[list[str]] | None = None) -> list[str]:
        """Returns the files that were compiled, slim or full, for a call that no way can build."""
        with tempfile.TemporaryDirectory() as root:
            place = Path(root)
            for name in ("src", "work", "out", "shared/cpp-O1"):
                (place / name).mkdir(parents=True)
            (place / "src/variant").write_text("cpp-O1")
            (place / "shared/cpp-O1/header.h").write_text("")
            (place / "shared/cpp-O1/header.names").write_bytes(NAMES)
            (place / "src/call.json").write_text(
                Call("m", True, cpp=[source], functions=functions, implicit_headers=False, error_handling=False).text()
            )
            job = Job(
                "compile",
                torch.device("cpu"),
                "torch_cuda",
                place / "src",
                place / "work",
                place / "out",
                "",
                "",
                None,
                "sm_90",
                shared=place / "shared",
            )
            self.assertEqual(compile_child.main(job), 0)
            self.assertEqual((place / "out/status").read_text(), "failed\n")
            return sorted(path.name for path in (place / "work/host").glob("*.cpp"))

    def test_the_headers_as_they_are_are_tried_only_where_they_may_help(self) -> None:
        self.assertEqual(self.ways("int n = lenght;"), ["slim-main.cpp"])
        self.assertEqual(self.ways("int n = Tensor;"), ["full-main.cpp", "slim-main.cpp"])
        module = (
            "struct Module { template <class... T> void def(T...) {} };\n"
            "#define PYBIND11_MODULE(name, m) void name(Module m)"
        )
        self.assertEqual(self.ways(module, [["missing", ""]]), ["slim-main.cpp"])


if __name__ == "__main__":
    unittest.main()
