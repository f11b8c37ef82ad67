"""Tests submissions whose calls of load_inline or load fail, with a real broker and a real worker on the CPU. Most
sources include no headers of torch, because these take long to compile.
"""

import os
import unittest

import kq

# Defines compiled(), which makes a module with the function number(); "NUMBER" in its source is replaced.
HEAD = """import torch
from torch.utils.cpp_extension import load, load_inline

SOURCE = r'''
#include <Python.h>
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
static PyObject* number(PyObject*, PyObject*) { return PyLong_FromLong(NUMBER); }
static PyMethodDef methods[] = {{"number", number, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "m", nullptr, -1, methods};
PyMODINIT_FUNC JOIN(PyInit_, TORCH_EXTENSION_NAME)() { return PyModule_Create(&definition); }
'''


def compiled(number, name="small", **more):
    return load_inline(name, SOURCE.replace("NUMBER", str(number)), no_implicit_headers=True, **more)


class Plain:
    number = staticmethod(lambda: 0)


"""
# Uses what the statements of a case define as `small`.
MODEL = """

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + small.number()
"""

SEVERAL_MODULES = """modules = {}
for name, number in (("several_one", 1), ("several_bad", "nonsense"), ("several_two", -1)):
    try:
        modules[name] = compiled(number, name)
    except RuntimeError as error:
        modules[name] = str(error)
assert modules["several_bad"].startswith("Error building extension 'several_bad': ")


class small:
    number = staticmethod(lambda: modules["several_one"].number() + modules["several_two"].number())
"""

WRITTEN_FILES = """import os
import tempfile

folder = tempfile.mkdtemp(prefix="my ext ")
texts = {
    "number.h": "#pragma once\\nint value();\\n",
    "value.cpp": '#include "number.h"\\nint value() { return 0; }\\n',
    "bind.cpp": '#include "number.h"\\n' + SOURCE.replace("NUMBER", "value()"),
}
for name, text in texts.items():
    with open(os.path.join(folder, name), "w") as out:
        out.write(text)
paths = [os.path.join(folder, name) for name in ("value.cpp", "bind.cpp")]
small = load(name="written", sources=paths, extra_cflags=["-O1"], verbose=True)
"""

NEVER_DEFINED = """caught = None
SOURCE = "long missing();\\n" + SOURCE
try:
    small = compiled("missing()", "never_defined")
except ImportError as error:
    caught, small = str(error), Plain
assert "undefined symbol" in caught, caught
"""

NAMES = """failed = []
for name in ("no-name", "no name", "fine"):
    try:
        small = compiled(0, name)
    except RuntimeError as error:
        failed.append(name)
assert failed == ["no-name", "no name"], failed
"""

NOT_CAUGHT = "small = compiled('nonsense')\n"
CAUGHT = "try:\n    small = compiled('nonsense')\nexcept Exception:\n    small = Plain\n"

# A missing semicolon in a source with torch's headers.
WITH_TORCH_HEADERS = """CPP = "torch::Tensor twice(torch::Tensor x) { return torch::relu(x) * 2 }"
try:
    module = load_inline(name="twice_semicolon", cpp_sources=CPP, functions=["twice"])
except Exception:
    module = None
assert module is None
small = Plain
"""


class InlineFailures(kq.SharedWorkerTest):
    def rows(self, run: str, cases: dict[str, str], *more: str) -> dict[str, dict[str, str]]:
        sources = {label: HEAD + statements + MODEL for label, statements in cases.items()}
        self.submit(run, sources, "--backend", "torch_cuda", *more)
        kq.wait_until(
            lambda: all(row["state"] == "finished" for row in kq.dump(run, "--broker", self.url)), f"{run} is finished"
        )
        return {row["label"]: row for row in kq.dump(run, "--broker", self.url)}

    def test_what_torch_would_raise_is_the_submissions_to_catch(self) -> None:
        with self.broker():
            rows = self.rows(
                "r",
                {
                    "several": SEVERAL_MODULES,
                    "written": WRITTEN_FILES,
                    "never_defined": NEVER_DEFINED,
                    "names": NAMES,
                    "not_caught": NOT_CAUGHT,
                },
            )
            found = {label: (row["verdict"], row["extensions"], row["fell_back"]) for label, row in rows.items()}
            self.assertEqual(
                found,
                {
                    "several": ("passed", "2 of 3", "true"),
                    "written": ("passed", "1 of 1", "false"),
                    "never_defined": ("passed", "0 of 1", "true"),
                    "names": ("passed", "1 of 3", "true"),
                    "not_caught": ("build_failed", "0 of 1", "false"),
                },
                {label: row["message"] for label, row in rows.items()},
            )
            self.assertEqual({label: row["findings"] for label, row in rows.items()}, dict.fromkeys(rows, ""))
            self.assertRegex(
                rows["several"]["extension_errors"], r"^several_bad: .*\.py:16, cpp_sources line 5: ‘nonsense’"
            )
            self.assertRegex(rows["not_caught"]["message"], r"^\w+\.py:16, cpp_sources line 5: ‘nonsense’")
            self.assertEqual(rows["not_caught"]["stage"], "build")
            self.assertRegex(
                rows["never_defined"]["extension_errors"], r"\.py:\d+: never_defined\.so: undefined symbol: "
            )

    def test_boards_mark_a_fallback_and_needed_extensions_prevent_it(self) -> None:
        with self.broker():
            row = self.rows("f", {"a": CAUGHT})["a"]
            self.assertEqual((row["verdict"], row["extensions"], row["fell_back"]), ("passed", "0 of 1", "true"))
            board = kq.kq("leaderboard", "--run", "f", KQ_BROKER=self.url).stdout
            self.assertIn("torch_cuda (fallback)", board)
            needed = self.rows("n", {"a": CAUGHT}, "--need-extensions")["a"]
            self.assertEqual((needed["verdict"], needed["need_extensions"]), ("build_failed", "true"))
            self.assertIn("‘nonsense’", needed["message"])
            self.assertIn("--need-extensions", needed["hint"])

    @unittest.skipUnless(
        "KQ_KILLS" in os.environ, "KQ_KILLS is not set; only CI sets it, because torch's headers are slow"
    )
    def test_a_source_with_torchs_headers(self) -> None:
        with self.broker():
            row = self.rows("t", {"a": WITH_TORCH_HEADERS})["a"]
            self.assertEqual((row["verdict"], row["extensions"]), ("passed", "0 of 1"))
            self.assertIn("expected ‘;’ before ‘}’ token", row["extension_errors"])


if __name__ == "__main__":
    unittest.main()
