"""Tests that a problem finds the files of its dict FILES beside it."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from harness.children.model_file import Problem
from harness.problem.files_beside import files_in, write_files_beside

PROBLEM = """
import json
import os

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1


def get_input_groups():
    with open(os.path.join(os.path.dirname(__file__), "cases.json")) as cases:
        return [[torch.zeros(json.loads(line)["n"])] for line in cases]


FILES = {
    "cases.json": "{\\"n\\": 2}\\n{\\"n\\": 3}\\n",
    "../outside.txt": "",
    ".hidden": "",
}
"""
SHAPES = """
import torch


class Model(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        return x * self.n


n = 7


def get_inputs():
    return [torch.ones(n)]


def get_init_inputs():
    return [n]


FILES = {
    "kq_test_shapes.py": "SHAPES = [{'n': 1}, {'n': 2}]\\n",
}

from kq_test_shapes import SHAPES as WORKLOADS


def _with_shape(function):
    def called(**shape):
        globals().update(shape)
        return function()

    return called


get_inputs = _with_shape(get_inputs)
get_init_inputs = _with_shape(get_init_inputs)
"""


class FilesBesideTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "src"
        self.folder.mkdir()

    def problem(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def test_a_problem_reads_its_data(self) -> None:
        problem = Problem(self.problem("reads_cases.py", PROBLEM), 1)
        self.assertEqual([tuple(x.shape) for x in problem.get_inputs()], [(3,)])
        self.assertEqual(set(os.listdir(self.folder)) - {"__pycache__"}, {"cases.json", "reads_cases.py"})
        self.assertFalse((self.folder.parent / "outside.txt").exists())

    def test_shapes_are_workloads(self) -> None:
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        problem = Problem(self.problem("has_shapes.py", SHAPES), 1)
        self.assertEqual([workload.name for workload in problem.workloads], ["n=1", "n=2"])
        torch.testing.assert_close(problem.get_inputs()[0], torch.ones(2))
        self.assertEqual(problem.init_arguments(), ([2], {}))

    def test_a_number_is_no_list_of_arguments(self) -> None:
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        text = PROBLEM + "\ndef get_init_inputs():\n    return 128\n"
        with self.assertRaisesRegex(TypeError, "returned an object of type int; it returns a list"):
            Problem(self.problem("gives_a_number.py", text), 1).init_arguments()

    def test_a_file_that_exists_stays(self) -> None:
        (self.folder / "a.txt").write_text("own")
        write_files_beside(self.problem("p.py", "\nFILES = {'a.txt': 'other', 'b.txt': 'new'}\n"))
        self.assertEqual((self.folder / "a.txt").read_text(), "own")
        self.assertEqual((self.folder / "b.txt").read_text(), "new")

    def test_other_values_are_no_files(self) -> None:
        for text in ("FILES = ['a']", "FILES = {'a': 1}", "FILES = open('x')", "x.FILES = {'a': 'b'}", "FILES = {"):
            self.assertEqual(files_in(text.encode()), {}, text)


if __name__ == "__main__":
    unittest.main()
