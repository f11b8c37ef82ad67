"""Tests the folder of a job's files: code of the job may write it, and nothing that was judged or built changes."""

import json
import os
import textwrap
import unittest

from harness.children.page import Command, Failure
from world import RELU, WorldTest

CODE = b"an extension's library"


def submission(at_import: str, in_forward: str = "") -> str:
    """Returns a submission that runs the statements; `value` becomes the message of the error that its call raises."""
    return (
        "import os, sys, torch\nhere = os.path.dirname(__file__)\n"
        + textwrap.dedent(at_import)
        + "\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
        + textwrap.indent(textwrap.dedent(in_forward), " " * 8)
        + "        raise RuntimeError(f'<{value}>')\n"
    )


class JobFiles(WorldTest):
    def value(self, source: str, more: dict[str, str | bytes] | None = None, **order: object) -> str:
        """Returns the text of `value` in a submission's call."""
        child = self.submission(source, more, **order)
        self.assert_ok(child.do(Command.LOAD))
        _, _, text = child.do(Command.CALL)
        return text.partition("<")[2].partition(">")[0]

    def test_a_submission_writes_beside_its_file(self) -> None:
        source = submission(
            """
            os.makedirs(os.path.join(here, "scratch"))
            with open(os.path.join(here, "scratch", "add.cu"), "w") as out:
                out.write("text")
            with open(os.path.join(here, "helper.py"), "w") as out:
                out.write("NUMBER = 5")
            import helper
            value = helper.NUMBER, here, sorted(os.listdir(here))
            """
        )
        expected = "(5, '/kq/src', ['helper.py', 'new.py', 'problem.py', 'scratch'])"
        # The second child has a copy of its own, in which nothing of the first one's lies.
        for _ in range(2):
            self.assertEqual(self.value(source), expected)

    def test_what_the_worker_wrote_stays_as_it_is(self) -> None:
        source = submission(
            """
            value = []
            for name in ("new.py", "kq_extensions.json", "kq_extension_0.so", "more.py"):
                try:
                    open(f"/kq/given/{name}", "w").close()
                    value.append(name)
                except OSError:
                    pass
            os.unlink(__file__)
            open(os.path.join(here, "problem.py"), "w").close()
            """
        )
        built: dict[str, str | bytes] = {"kq_extensions.json": "{}", "kq_extension_0.so": CODE}
        self.assertEqual(self.value(source, built), "[]")
        files = {path.name: path.read_bytes() for path in (self.root / f"{self._children}" / "src").iterdir()}
        expected = {"new.py": source.encode(), "problem.py": RELU.encode(), "kq_extensions.json": b"{}"}
        self.assertEqual(files, {**expected, "kq_extension_0.so": CODE})

    def test_a_module_is_the_file_that_was_judged(self) -> None:
        source = submission(
            """
            import inspect
            def judged():
                return "judged"
            for name in ("new.py", "other.py"):
                os.unlink(os.path.join(here, name))
                with open(os.path.join(here, name), "w") as out:
                    out.write("def judged():\\n    return 'rewritten'\\n" * 20)
            import other
            value = other.NAME, os.path.basename(other.__file__), "rewritten" in inspect.getsource(judged)
            """
        )
        self.assertEqual(self.value(source, {"other.py": "NAME = 'judged'"}), "('judged', 'other.py', False)")

    def test_bytecode_that_the_job_wrote_is_not_loaded(self) -> None:
        source = submission(
            """
            import importlib.util, py_compile
            with open(os.path.join(here, "text"), "w") as out:
                out.write("NAME = 'rewritten'")
            other = os.path.join(here, "other.py")
            py_compile.compile(os.path.join(here, "text"), importlib.util.cache_from_source(other), other,
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
            import other
            value = other.NAME
            """
        )
        self.assertEqual(self.value(source, {"other.py": "NAME = 'judged'"}), "judged")

    def test_a_full_folder_is_an_error_of_the_write(self) -> None:
        source = submission(
            """
            import errno
            try:
                with open(os.path.join(here, "big"), "wb") as out:
                    for _ in range(64):
                        out.write(bytes(1 << 20))
                        out.flush()
                value = "no limit"
            except OSError as error:
                value = errno.errorcode[error.errno]
                os.unlink(os.path.join(here, "big"))
            """
        )
        self.assertEqual(self.value(source, scratch_bytes=16 << 20), "ENOSPC")

    def test_the_program_is_the_file(self) -> None:
        source = submission(
            """
            import argparse
            parser = argparse.ArgumentParser()
            parser.add_argument("--n", type=int, default=4)
            value = parser.parse_args().n, sys.argv, sys.path[0], parser.prog
            """
        )
        self.assertEqual(self.value(source), "(4, ['/kq/src/new.py'], '/kq/src', 'new.py')")
        reference = self.child({"problem.py": "import sys\nraise ValueError(sys.argv)\n" + RELU}, role="reference")
        self.assert_failed(reference.do(Command.LOAD), Failure.PROBLEM_INVALID, "ValueError: ['/kq/src/problem.py']")

    def test_files_written_beside_the_submission_are_recorded_with_their_text(self) -> None:
        source = (
            "import argparse, os\nfrom torch.utils.cpp_extension import load\n"
            "argparse.ArgumentParser().parse_args()\n"
            "folder = os.path.join(os.path.dirname(__file__), 'scratch')\nos.makedirs(folder)\n"
            "path = os.path.join(folder, 'm.cpp')\n"
            "with open(path, 'w') as out:\n    out.write('int first;')\n"
            "load('m', path)\n"
            "with open(path, 'w') as out:\n    out.write('int second;')\n"
        )
        child = self.child({"problem.py": RELU, "new.py": source}, role="record")
        self.assertEqual(self.zygote.exit_of(child.id), 0, child.log(1))
        calls = json.loads((child.dir / "out/calls").read_text())["calls"]
        self.assertEqual([call["files"] for call in calls], [[["part0/m.cpp", "int first;"]]])
        self.assertEqual(sorted(os.listdir(child.dir / "src")), ["new.py", "problem.py"])


if __name__ == "__main__":
    unittest.main()
