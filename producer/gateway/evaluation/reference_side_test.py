"""Tests reference_side.py, the program of the problems that the gateway writes, without a worker. Needs torch."""

import base64
import json
import random
import struct
import sys
import types
import unittest
import zlib
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[3] / "gpu_worker"))  # the program uses the harness of its worker
TEXT = (Path(__file__).parent / "reference_side.py").read_text()
PLAN = {"inputs": [], "names": [], "spare": [], "extra": [], "call": None, "outputs": [], "vary": False}


def problem(source: str = "", **plan: Any) -> types.ModuleType:
    """Returns the module of a problem. Without a target its outputs are placeholders."""
    made: dict[str, Any] = PLAN | {"target": {"kind": "none"}} | plan
    made.setdefault("names", [])
    module = types.ModuleType("problem")
    module.__file__ = "/tmp/problem.py"
    head = f"SOURCE = {json.dumps(source)}\nPLAN = {json.dumps(json.dumps(made))}\n"
    exec(compile(head + TEXT, "problem.py", "exec"), vars(module))
    return module


def tensor(name: str = "x", shape: tuple[int, ...] = (3, 4), dtype: str = "float32", **more: Any) -> dict[str, Any]:
    return {"name": name, "shape": list(shape), "dtype": dtype} | more


def drawn(declared: bool, *specs: dict[str, Any], **plan: Any) -> list[torch.Tensor]:
    """Returns the inputs of a trial with exactly the declared values, or of one with others."""
    one = problem(inputs=list(specs), names=[spec["name"] for spec in specs], **plan)
    for seed in range(1_000):
        random.seed(seed)
        if (random.randrange(one.DECLARED_ONE_IN) == 0) == declared:
            random.seed(seed)
            return one.get_inputs()
    raise AssertionError("no seed was found")


class Drawing(unittest.TestCase):
    def test_a_seed_gives_the_numbers_of_torchs_generator(self) -> None:
        for dtype in ("float64", "float32", "float16", "bfloat16"):
            x, y = drawn(True, *[tensor(n, dtype=dtype, init={"kind": "randn", "seed": 42}) for n in "xy"])
            expected = torch.randn(3, 4, generator=torch.Generator().manual_seed(42), dtype=getattr(torch, dtype))
            self.assertTrue(torch.equal(x, expected))
            self.assertTrue(torch.equal(x, y))

    def test_other_trials_have_other_numbers_and_equal_seeds_stay_equal(self) -> None:
        x, y = drawn(False, *[tensor(n, init={"kind": "randn", "seed": 42}) for n in "xy"])
        self.assertTrue(torch.equal(x, y))
        self.assertFalse(torch.equal(x, torch.randn(3, 4, generator=torch.Generator().manual_seed(42))))

    def test_tensors_without_a_seed_differ(self) -> None:  # in the original they are equal
        for declared in (True, False):
            x, y = drawn(declared, tensor("x", init={"kind": "randn"}), tensor("y", init={"kind": "randn"}))
            self.assertFalse(torch.equal(x, y))

    def test_a_standard_deviation_counts_without_a_mean(self) -> None:  # in the original it does not
        (x,) = drawn(True, tensor(shape=(10_000,), init={"kind": "randn", "std": 5.0, "seed": 1}))
        self.assertAlmostEqual(x.std().item(), 5, delta=0.2)
        (x,) = drawn(True, tensor(shape=(10_000,), init={"kind": "randn", "std": 2.0, "mean": 7.0, "seed": 1}))
        self.assertAlmostEqual(x.mean().item(), 7, delta=0.1)

    def test_uniform_takes_a_high_of_zero(self) -> None:  # in the original 0 means 1
        (x,) = drawn(True, tensor(shape=(1_000,), init={"kind": "uniform", "low": -1.0, "high": 0.0}))
        self.assertLess(x.max().item(), 0)
        self.assertGreater(x.min().item(), -1.001)
        (x,) = drawn(True, tensor(shape=(1_000,), init={"kind": "uniform"}))
        self.assertTrue(0 <= x.min() and x.max() <= 1 and x.max() > 0.9)

    def test_integers(self) -> None:
        for dtype, low, high in (("int8", -128, 127), ("uint8", 0, 255), ("int64", -1_000_000, 1_000_000)):
            (x,) = drawn(True, tensor(shape=(50_000,), dtype=dtype, init={"kind": "randn"}))
            self.assertTrue(low <= x.min() and x.max() <= high)
            self.assertGreater(int(x.max()) - int(x.min()), 0.99 * (high - low))
        (x,) = drawn(True, tensor(shape=(1_000,), dtype="int32", init={"kind": "uniform", "low": 3, "high": 5}))
        self.assertEqual(set(x.tolist()), {3, 4, 5})
        (x,) = drawn(True, tensor(shape=(10_000,), dtype="int16", init={"kind": "uniform"}))
        self.assertEqual((int(x.min()), int(x.max())), (0, 100))
        (x,) = drawn(True, tensor(shape=(100,), dtype="bool", init={"kind": "randn"}))
        self.assertEqual(set(x.tolist()), {True, False})

    def test_fixed_values(self) -> None:
        big = 2**53 + 1  # a float would lose its last digit
        for dtype, init, expected in (
            ("float32", {"kind": "zeros"}, [0.0] * 4),
            ("float16", {"kind": "ones"}, [1.0] * 4),
            ("float64", {"kind": "full", "fill_value": 3.25}, [3.25] * 4),
            ("int64", {"kind": "full", "fill_value": big}, [big] * 4),
            ("float32", {"kind": "full"}, [0.0] * 4),
            ("float32", {"kind": "arange", "start": 1.0, "step": 0.5}, [1.0, 1.5, 2.0, 2.5]),
            ("int64", {"kind": "arange", "start": big}, [big, big + 1, big + 2, big + 3]),
            ("int32", {"kind": "arange", "step": 0}, [0] * 4),  # in the original a step of 0 means 1
            ("bool", {"kind": "ones"}, [True] * 4),
        ):
            (x,) = drawn(True, tensor(dtype=dtype, init=init))
            self.assertEqual(x.tolist(), [expected] * 3, init)
            self.assertEqual(str(x.dtype), f"torch.{dtype}")
        (x,) = drawn(True, tensor(shape=(), init={"kind": "arange", "start": 2}))
        self.assertEqual((x.tolist(), list(x.shape)), (2.0, []))

    def test_data_of_the_request(self) -> None:
        z85 = base64.b85encode(zlib.compress(struct.pack("<4h", -1, 0, 1, 300))).decode()
        spec = tensor(shape=(2, 2), dtype="int16", data={"z85": z85, "dtype": "int16", "shape": [2, 2]})
        (x,) = drawn(False, spec)
        self.assertEqual(x.tolist(), [[-1, 0], [1, 300]])

    def test_fixed_inputs_vary_where_nothing_is_random(self) -> None:
        specs = [tensor("x", init={"kind": "ones"}), tensor("n", dtype="int32", init={"kind": "ones"})]
        x, n = drawn(False, *specs, vary=True)
        self.assertGreater(len(set(x.flatten().tolist())), 1)
        self.assertTrue(bool(((x > 0.8) & (x < 1.2)).all()))
        self.assertEqual(n.unique().tolist(), [1])
        x, _ = drawn(True, *specs, vary=True)
        self.assertEqual(x.unique().tolist(), [1.0])
        (x,) = drawn(False, tensor("x", init={"kind": "zeros"}), vary=True)
        self.assertTrue(bool(x.any()) and bool((x.abs() < 0.2).all()))

    def test_whole_numbers_vary_where_nothing_else_does(self) -> None:
        kinds = [("a", "arange", "int64"), ("o", "ones", "int32"), ("b", "zeros", "bool")]
        specs = [tensor(name, (2, 9), dtype, init={"kind": kind}) for name, kind, dtype in kinds]
        places, ones, flags = drawn(False, *specs, vary=True)
        self.assertEqual(sorted(places.flatten().tolist()), sorted([*range(9), *range(9)]))
        self.assertNotEqual(places.tolist(), [list(range(9))] * 2)
        self.assertEqual(set(ones.flatten().tolist()), {0, 1})
        self.assertEqual(set(flags.flatten().tolist()), {True, False})


class References(unittest.TestCase):
    X = tensor("x", shape=(4,), init={"kind": "randn"})
    CLASS = {"kind": "class", "name": "Model", "method": "forward", "has_init_inputs": True}

    def outputs(self, one: types.ModuleType) -> tuple[list[Any], Any]:
        inputs = one.get_inputs()
        return inputs, one.Model()(*inputs)

    def test_a_class_that_names_itself_and_lacks_imports(self) -> None:
        source = (
            "class Model(nn.Module):\n    def __init__(self):\n        super(Model, self).__init__()\n"
            "        self.w = nn.Parameter(torch.ones(4))\n"
            "    def forward(self, x):\n        return F.relu(x) * self.w\n"
        )
        call = [{"name": "x", "input": 0, "written": False}]
        one = problem(source, inputs=[self.X], names=["x"], target=self.CLASS, call=call)
        (x,), y = self.outputs(one)
        self.assertTrue(torch.equal(y, torch.relu(x)))
        self.assertEqual(list(one.Model().state_dict()), ["w"])

    def test_a_method_of_a_plain_class(self) -> None:
        source = "class C:\n    def twice(self, x, k):\n        return x * k\n"
        call = [{"name": "x", "input": 0, "written": False}, {"name": "k", "value": 2}]
        target = self.CLASS | {"name": "C", "method": "twice"}
        (x,), y = self.outputs(problem(source, inputs=[self.X], names=["x"], target=target, call=call))
        self.assertTrue(torch.equal(y, x * 2))

    def test_a_function_writes_its_outputs_or_takes_none_and_no_scalars(self) -> None:
        form = {"shape": [4], "dtype": "float32", "name": "y"}
        call = [{"name": "x", "input": 0, "written": False}, {"name": "y", "output": form}]
        call.append({"name": "n", "value": 1})
        with_all = "def f(x, y, n):\n    y.copy_(x + n)\n"
        for source in (with_all, "def f(x, n):\n    return x + n\n", "def f(x):\n    return x + 1\n"):
            target = {"kind": "function", "name": "f", "has_init_inputs": False}
            (x,), y = self.outputs(problem(source, inputs=[self.X], names=["x"], target=target, call=call))
            self.assertTrue(torch.equal(y, x + 1), source)

    def test_parameters_have_the_names_of_the_contract(self) -> None:
        import inspect

        source = (
            "class Model(torch.nn.Module):\n    def forward(self, a, k, b):\n        return a + k * b\n"
            "def get_inputs():\n    return [torch.randn(4), 2.0, torch.randn(4)]\n"
        )
        ws = tensor("ws", shape=(2,), init={"kind": "zeros"})
        spare = [self.X, self.X | {"name": "y"}, ws]
        one = problem(source, inputs=None, names=["x", "y", "ws"], spare=spare, target=self.CLASS)
        inputs, result = self.outputs(one)
        self.assertEqual(list(inspect.signature(one.Model().forward).parameters), ["x", "kq_argument_1", "y", "ws"])
        self.assertTrue(torch.equal(result, inputs[0] + 2 * inputs[2]))
        self.assertEqual(inputs[3].tolist(), [0, 0])

    def test_what_the_source_lacks_is_named(self) -> None:
        one = problem("x = 1\n", inputs=[self.X], names=["x"], target=self.CLASS)
        with self.assertRaisesRegex(AttributeError, "Entry point 'Model' not found in the source"):
            one.Model()

    def test_an_error_has_the_line_of_the_source(self) -> None:
        import traceback

        one = problem("import torch\n\nundefined_name\n", inputs=[self.X], names=["x"], target=self.CLASS)
        try:
            one.Model()
        except NameError as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            self.assertEqual((frame.name, frame.lineno, frame.line), ("<module>", 3, "undefined_name"))
            self.assertTrue(frame.filename.endswith("/reference.py"))

    def test_an_output_that_was_not_written_is_told(self) -> None:
        one = problem(outputs=[{"name": "out", "shape": [4], "dtype": "float32"}])
        poison = torch.full((4,), 0x7FF87FC5, dtype=torch.int32).view(torch.float32)
        words = "the kernel has written nothing into its output out"
        self.assertEqual(one.check([], [], poison), words)
        self.assertIsNone(one.check([], [], torch.zeros(4)))
        self.assertIsNone(one.check([], [], torch.full((4,), float("nan"))))

    def test_the_first_kernel_of_a_source(self) -> None:
        find = problem().first_kernel
        for source in (
            "// __global__ void no(\n__global__ void add(float* x) {}",
            'extern "C" __global__ void __launch_bounds__(256) add(float* x) {}',
            "__global__ __launch_bounds__(256, 2) void add(float* x) {} __global__ void other() {}",
            "template <class T>\n__global__ void\nadd(T* x) {}",
        ):
            self.assertEqual(find(source), "add", source)


class CudaReferences(unittest.TestCase):
    def test_a_kernel_is_compiled_and_its_parameters_are_measured(self) -> None:
        source = "#include <cuda_fp16.h>\n__global__ void f(float* x, int n, long long m, float a, double b) {}"
        target = {"name": None, "compiler_options": ["--use_fast_math", "-O3"]}
        binary, symbol, sizes = problem().compiled_kernel(target, source, "sm_90")
        self.assertEqual((binary[:4], symbol), (b"\x7fELF", "_Z1fPfixfd"))
        self.assertEqual(list(sizes), [8, 4, 8, 4, 8])

    def test_scalars_have_the_width_of_the_parameter(self) -> None:  # the original always passes 64 bits
        parameter = problem().parameter_of
        self.assertEqual(bytes(parameter(1.5, 4)), struct.pack("<f", 1.5))
        self.assertEqual(bytes(parameter(1.5, 8)), struct.pack("<d", 1.5))
        self.assertEqual(bytes(parameter(-2, 4))[:4], struct.pack("<i", -2))
        self.assertEqual(bytes(parameter(True, 1))[:1], b"\x01")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
