"""Tests which compiler errors end a build at once, and which are left to the way that uses the headers as they are."""

import unittest

from harness.extensions.compiler_error import Cause, cause_of, is_source_error, too_large_excerpt, words_of
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

    def test_what_a_limit_ended_is_no_error_of_the_source(self) -> None:
        source = "main.cpp:3:7: error: expected ‘;’ before ‘}’ token"
        for log, cause in (
            ("g++: fatal error: File size limit exceeded signal terminated program as", Cause.DISK),
            ("/tmp/x.s: Fatal error: can't write 4096 bytes to section .data of main.o: 'File too large'", Cause.DISK),
            ("/tmp/x.s: Fatal error: main.o: No space left on device", Cause.DISK),
            ("main.cpp:3:1: fatal error: error writing to /tmp/cc.s: No space left on device", Cause.DISK),
            ("ptxas fatal   : Memory allocation failure", Cause.MEMORY),
            ("cuda_sources(3): catastrophic error: out of memory", Cause.MEMORY),
            ("cc1plus: out of memory allocating 65536 bytes after a total of 1234 bytes", Cause.MEMORY),
            ("virtual memory exhausted: Cannot allocate memory", Cause.MEMORY),
            ("g++: fatal error: Killed signal terminated program cc1plus", Cause.MEMORY),
            ("cicc\nKilled signal", Cause.MEMORY),
            ("catastrophic error: out of memory", Cause.MEMORY),
            ("nvcc error   : 'cicc' died due to signal 9 (Kill signal)", Cause.MEMORY),
            ("/usr/bin/ld: m.o: undefined reference to `out of memory'", Cause.UNSURE),
            ("/usr/bin/ld: m.o: undefined reference to `no space left on device'", Cause.UNSURE),
            ("terminate called after throwing an instance of 'std::bad_alloc'", Cause.MEMORY),
            (source, Cause.SOURCE),
            (f"{source}\ncc1plus: out of memory allocating 8 bytes", Cause.UNSURE),
            (f"{source}\nKilled signal", Cause.UNSURE),
            ("main.cpp:3:2: error: #error out of memory", Cause.SOURCE),
            ("main.cpp:3:9: error: out of memory", Cause.SOURCE),
            ("main.cpp:3:10: fatal error: out of memory: No such file or directory", Cause.SOURCE),
            ("/tmp/x.s: Assembler messages:\n/tmp/x.s:9: Error: no such instruction: `out of memory'", Cause.SOURCE),
            ("main.cpp: In function: internal compiler error: Segmentation fault", Cause.UNSURE),
            ("/usr/bin/ld: cannot find -lmissing", Cause.UNSURE),
        ):
            self.assertIs(cause_of(log), cause, log)

    def test_an_object_that_is_too_large_is_told_in_words(self) -> None:
        call = Call(place="add.py:7", name="add", inline=True)
        words = "/tmp/x.s: Fatal error: main.o: No space left on device"
        excerpt = too_large_excerpt(call, f"main.cpp: note\n{words}\ncompilation terminated.")
        self.assertTrue(excerpt.startswith("add.py:7: the compiler writes more than a build may write"), excerpt)
        self.assertIn(words, excerpt)


if __name__ == "__main__":
    unittest.main()
