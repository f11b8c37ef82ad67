"""Tests the entry that clients give to a .cu which is an extension of torch: what its function forward gets."""

import ast
import json
import unittest
from pathlib import Path

from harness.children.page import Command
from harness.extensions.toolchain import find_cuda
from world import RELU, WorldTest

CLIENT = Path(__file__).resolve().parents[3] / "python/kq/records/submission.py"

# Has host code only, so that it runs without a GPU. It returns scale * (x @ weight.T + bias), and relu(x) without
# weights.
SOURCE = """
#include <pybind11/pybind11.h>
namespace py = pybind11;

py::object forward(py::object x, py::object weight, py::object bias, double scale) {
  const auto functions = py::module_::import("torch").attr("nn").attr("functional");
  if (weight.is_none()) return functions.attr("relu")(x);
  return functions.attr("linear")(x, weight, bias) * py::float_(scale);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, "a(b: c, d: e)", py::arg("x"), py::arg("weight") = py::none(),
        py::arg("bias") = py::none(), py::arg("scale") = 1.0);
}
"""
LINEAR = """
import torch
class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(8, width)
    def forward(self, x):
        return self.layer(x)
def get_inputs():
    return [torch.randn(4, 8)]
def get_init_inputs():
    return [3]
"""
# As the problems of robust-kbench are: forward() passes the inputs, weights and constants to a function.
FUNCTIONAL = """
import torch
def forward_fn(x, weight, bias, scale):
    return scale * torch.nn.functional.linear(x, weight, bias)
class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(width))
        self.weight = torch.nn.Parameter(torch.randn(width, 8))
        self.scale = 0.5
    def forward(self, x, fn=forward_fn):
        return fn(x, self.weight, self.bias, self.scale)
def get_inputs():
    return [torch.randn(4, 8)]
def get_init_inputs():
    return [3]
"""
# Builds an extension for each workload that it is constructed for, and falls back to torch where that fails.
FALLS_BACK = (
    RELU.replace("class Model", "class ModelNew")
    .replace(
        "    def forward",
        "    def __init__(self):\n        super().__init__()\n        try:\n"
        "            torch.utils.cpp_extension.load_inline('m', 'int a;', functions=['f'])\n"
        "        except RuntimeError as error:\n            assert 'words' in str(error)\n    def forward",
    )
    .replace("import torch\n", "import torch\nimport torch.utils.cpp_extension\n")
)
# Has more weights than the function takes arguments.
UNUSED_WEIGHTS = RELU.replace(
    "    def forward",
    "    def __init__(self):\n        super().__init__()\n"
    "        self.unused = torch.nn.ParameterList(torch.ones(1) for _ in range(4))\n    def forward",
)


def entry() -> str:
    """Returns the entry as the Python client has it; a test of the client compares it with that of kq-submit."""
    for node in ast.parse(CLIENT.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if node.targets[0].id == "EXTENSION_ENTRY":
                return str(ast.literal_eval(node.value))
    raise AssertionError(f"{CLIENT} has no EXTENSION_ENTRY")


class ExtensionEntry(WorldTest):
    def built(self, role: str, files: dict[str, str | bytes]) -> Path:
        child = self.child(files, role=role, backend="torch_cuda")
        self.assertEqual(child.zygote.exit_of(child.id), 0, child.log())
        return child.dir / "out"

    @unittest.skipIf(find_cuda() is None, "no nvcc here")
    def test_forward_gets_what_it_takes(self) -> None:
        files: dict[str, str | bytes] = {"new.py": entry(), "new.cu": SOURCE}
        recorded = json.loads((self.built("record", {**files, "problem.py": RELU}) / "calls").read_text())
        (call,), (key,) = recorded["calls"], recorded["keys"]
        library = self.built("compile", {"call.json": json.dumps(call)})
        self.assertEqual((library / "status").read_text(), "ok\n", (library / "message").read_text())
        files["kq_extension_0.so"] = (library / "module.so").read_bytes()
        files["kq_extensions.json"] = json.dumps({"modules": {key: "kq_extension_0.so"}})
        for name, problem in (
            ("no weights", RELU),
            ("weights", LINEAR),
            ("a function", FUNCTIONAL),
            ("weights that it does not take", UNUSED_WEIGHTS),
        ):
            with self.subTest(name):
                reference, submission = self.pair(problem, entry(), files, backend="torch_cuda")
                self.assert_ok(submission.do(Command.LOAD, 3))
                for seed in (1, 2):
                    self.assert_ok(reference.do(Command.MAKE_INPUTS, seed))
                    submission.put(reference.page.inputs[0], reference.bytes_of(reference.page.inputs[0]))
                    self.assert_ok(reference.do(Command.CALL, seed))
                    self.assert_ok(submission.do(Command.CALL, seed))
                    self.assertEqual(
                        submission.bytes_of(submission.page.outputs[0]),
                        reference.bytes_of(reference.page.outputs[0]),
                    )

    def test_a_constructor_that_calls_load_inline_does_so_for_every_workload(self) -> None:
        recorded = self.built("record", {"new.py": FALLS_BACK, "problem.py": RELU})
        (key,) = json.loads((recorded / "calls").read_text())["keys"]
        manifest = json.dumps({"failed": {key: {"kind": "build", "text": "words"}}})
        _, submission = self.pair(RELU, FALLS_BACK, {"kq_extensions.json": manifest}, backend="torch_cuda")
        for seed in (3, 4):
            self.assert_ok(submission.do(Command.LOAD, seed))


if __name__ == "__main__":
    unittest.main()
