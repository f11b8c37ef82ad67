"""Tests the arguments and results of models: containers, constants, numbers, arrays, strides and dtypes."""

import unittest
from collections import OrderedDict, namedtuple
from typing import Any

import numpy
import torch
from harness.children.failures import Failed
from harness.children.page import Command, Failure, Page
from harness.children.tensors import DTYPES, copy_of, moved
from harness.values.value_tree import Arguments, Result, ResultForm, describe_arguments, describe_result
from world import WorldTest

Pair = namedtuple("Pair", ["first", "second"])


def rebuilt(*values: Any) -> list[Any]:
    """Returns the arguments as a submission child builds them."""
    rows, text = describe_arguments([f"a{i}" for i in range(len(values))], values)
    return Arguments(text.encode()).build([value for _, value in rows])


def taken(reference: Any, got: Any) -> list[Any]:
    """Returns the leaves of a submission's result."""
    rows, text = describe_result(reference)
    dtypes = [v.dtype if isinstance(v, torch.Tensor) else torch.as_tensor(v).dtype for _, v in rows]
    return Result(text.encode()).take(got, dtypes)


class Trees(unittest.TestCase):
    def test_tensors_and_numbers_need_no_text(self) -> None:
        x = torch.ones(2)
        self.assertEqual(
            describe_arguments("xyzu", (x, 1, None, 2.5)), ([("x", x), ("y", 1), ("z", None), ("u", 2.5)], "")
        )
        self.assertEqual(describe_result((x, x))[1], "")

    def test_every_kind_arrives_as_it_was(self) -> None:
        values = (
            None, True, 7, 2**80, -0.5, float("inf"), 1 + 2j, "text\0é", torch.float8_e4m3fn, torch.device("cpu"),
            torch.channels_last, torch.strided, torch.Size([2, 3]), slice(1, None, 2), numpy.float32(0.1),
            numpy.int64(-3), numpy.bool_(True), [1, (2, [3])], (), {"a": 1, 2: [None]}, OrderedDict(b=1),
            numpy.float64(2.5),
        )  # fmt: skip
        for value in values:
            with self.subTest(value=value):
                (got,) = rebuilt([value])[0]
                self.assertIs(type(got), type(value))
                self.assertEqual(got, value)
        nan = rebuilt([float("nan")])[0][0]
        self.assertNotEqual(nan, nan)
        pair = rebuilt(Pair(torch.ones(1), 2))[0]
        self.assertEqual((pair.first.item(), pair.second, pair._fields), (1, 2, Pair._fields))

    def test_arrays_become_tensors_and_arrays_again(self) -> None:
        rows, text = describe_arguments(["a"], [numpy.arange(4)[::-1]])
        self.assertEqual(rows[0][1].tolist(), [3, 2, 1, 0])
        (got,) = Arguments(text.encode()).build([rows[0][1]])
        self.assertIsInstance(got, numpy.ndarray)

    def test_leaves_are_named_as_torch_names_them(self) -> None:
        x = torch.ones(1)
        rows, _ = describe_arguments(["parts", "cfg"], [[x, [x]], {"w": Pair(x, 1)}])
        self.assertEqual([name for name, _ in rows], ["parts[0]", "parts[1][0]", "cfg['w'].first"])
        rows, _ = describe_result((x, (x, {"h": x})))
        self.assertEqual([name for name, _ in rows], ["out0", "out1[0]", "out1[1]['h']"])

    def test_what_cannot_travel_is_named(self) -> None:
        with self.assertRaisesRegex(TypeError, "f\\['g'\\] is a Generator; possible are tensors"):
            describe_arguments(["f"], [{"g": torch.Generator()}])
        deep: Any = 1
        for _ in range(40):
            deep = [deep]
        with self.assertRaisesRegex(TypeError, "more than 32 containers"):
            describe_arguments(["f"], [deep])
        with self.assertRaisesRegex(ValueError, "at most 32768 are possible"):
            describe_arguments(["f"], ["x" * 40000])

    def test_a_text_of_another_kind_is_refused(self) -> None:
        for node in (
            '{"module": "os"}',
            '{"dtype": "load"}',
            '{"numpy": ["O", null]}',
            '{"named": ["a b", ["x"], [null]]}',
        ):
            with self.subTest(node=node), self.assertRaises((ValueError, TypeError)):
                Arguments(f'{{"names": ["a"], "values": [{node}]}}'.encode())

    def test_a_result_may_have_other_containers_of_the_same_form(self) -> None:
        x, y = torch.ones(1), torch.zeros(1)
        self.assertEqual(taken((x, (x, y)), [x, [x, y]]), [x, x, y])
        self.assertEqual(taken(Pair(x, (y, 1)), (x, (y, 1)))[:2], [x, y])
        self.assertEqual(taken({"a": x, "b": None}, OrderedDict(b=None, a=x)), [x])
        self.assertEqual([float(v) for v in taken(1.5, (torch.tensor(2.5, dtype=torch.float64),))], [2.5])
        self.assertEqual(taken(numpy.ones(2), x), [x])

    def test_a_result_is_built_again_in_its_form(self) -> None:
        x, y = torch.ones(1), torch.zeros(1)
        for result in (
            x, [x], (x, y), [x, (y,)], Pair(x, [y]), {"a": x, "b": (None, y)}, OrderedDict(b=x), (x, 1, True, 0.5, 1j),
            (x, numpy.float32(0.5), numpy.int64(-3), "mean", torch.float16),
        ):  # fmt: skip
            with self.subTest(result=result):
                rows, _ = describe_result(result)
                values = [v if isinstance(v, torch.Tensor) else torch.as_tensor(v) for _, v in rows]
                got = ResultForm(result).build(values)
                self.assertEqual(repr(got), repr(result))
        array = ResultForm({"a": numpy.ones(2)}).build([y])["a"]
        self.assertIsInstance(array, numpy.ndarray)

    def test_a_difference_of_form_is_one_sentence(self) -> None:
        x = torch.ones(1)
        cases: list[tuple[Any, Any, str]] = [
            ((x, (x, x)), (x, x), "out1 is a tensor, must be a tuple or list of 2"),
            ((x, None), x, "the result is a tensor, must be a tuple or list of 2"),
            ((x, None), (x, x), "out1 is a tensor, must be None"),
            ((x, None), (x, None, x), "the result has 3 elements, must have 2"),
            ((x, "a"), (x, "b"), "out1 is 'b', must be 'a'"),
            ((x, torch.float16), (x, torch.float32), "out1 is torch.float32, must be torch.float16"),
            ({"a": x}, {"b": x}, "out has no key 'a', which the reference's has"),
            ({"a": x}, {"a": x, "b": 1}, "out has the key 'b', which the reference's has not"),
            ({"a": (x, x)}, {"a": (x, 1)}, "out['a'][1] is 1, must be a tensor"),
            ((x, 1), (x, 1.5), "out1 is 1.5, must be a number of type int"),
            ((x, True), (x, 1), "out1 is 1, must be a number of type bool"),
        ]
        for reference, got, words in cases:
            with self.subTest(words=words), self.assertRaises(Failed) as raised:
                taken(reference, got)
            self.assertEqual((raised.exception.failure, str(raised.exception)), (Failure.WRONG_FORM, words))


class Strides(unittest.TestCase):
    def test_a_cast_and_a_copy_keep_them(self) -> None:
        whole = torch.arange(24.0).view(4, 6)
        for x in (
            whole.t(),
            whole[:1].expand(3, 6),
            whole[:, ::2],
            whole.view(2, 2, 3, 2).to(memory_format=torch.channels_last),
        ):
            for y in (moved(x, torch.device("cpu"), torch.float16), copy_of(x)):
                self.assertEqual((y.stride(), y.tolist()), (x.stride(), x.tolist()))

    def test_eight_bits_are_not_cast(self) -> None:
        x = torch.ones(2).to(torch.float8_e4m3fn)
        self.assertIs(moved(x, torch.device("cpu"), torch.float16), x)


HEAD = "import torch\nimport numpy as np\nimport torch.nn as nn\n"


class Calls(WorldTest):
    def run_pair(self, forward: str, new: str, inputs: str, init: str = "") -> tuple[Page, tuple[Any, ...]]:
        """Runs one call of the reference and of the submission. Returns the page and the answer of the submission's."""
        body = HEAD + "class {}(nn.Module):\n    def forward(self, {}\n"
        problem = body.format("Model", forward) + f"def get_inputs():\n    return {inputs}\n" + init
        reference, submission = self.pair(problem, body.format("ModelNew", new))
        self.assert_ok(submission.do(Command.LOAD, 7))
        answers: tuple[Any, ...] = ()
        for seed in (1, 2):
            self.assert_ok(reference.do(Command.MAKE_INPUTS, seed))
            self.assert_ok(reference.do(Command.CALL, seed))
            for entry in reference.page.inputs[: reference.page.input_count]:
                submission.put(entry, reference.bytes_of(entry))
            self.assert_ok(submission.do(Command.STAGE))
            answers = submission.do(Command.CALL, seed)
            if answers[1] == Failure.NONE:
                for entry in reference.page.outputs[: reference.page.output_count]:
                    self.assertEqual(submission.bytes_of(entry), reference.bytes_of(entry), entry.name)
        return reference.page, answers

    def assert_same(self, forward: str, inputs: str, new: str = "") -> Page:
        page, answer = self.run_pair(forward, new or forward, inputs)
        self.assert_ok(answer)
        return page

    def test_containers_and_constants_reach_both_sides(self) -> None:
        page = self.assert_same(
            "ps, cfg, dtype): return (torch.cat(ps['w'], cfg.get('dim', 0)) * cfg['gain']).to(dtype)",
            "[{'w': [torch.rand(2, 3), torch.rand(2, 3)]}, {'gain': np.float32(2), 'dim': 1}, torch.float64]",
        )
        self.assertEqual([e.name for e in page.inputs[: page.input_count]], [b"ps['w'][0]", b"ps['w'][1]"])

    def test_arrays_are_arrays_for_the_model(self) -> None:
        self.assert_same(
            "a): assert isinstance(a, np.ndarray); return torch.from_numpy(a * 2)", "[np.random.rand(3, 4)]"
        )

    def test_strides_are_those_of_the_problem(self) -> None:
        page = self.assert_same(
            "a, b, c): return torch.tensor([*a.stride(), *b.stride(), *c.stride()]) + a.sum() + b.sum() + c.sum()",
            "[torch.rand(4, 6).t(), torch.rand(1, 5).expand(3, 5), torch.rand(8, 4)[:, ::2]]",
        )
        self.assertEqual([e.bytes for e in page.inputs[:3]], [96, 20, 4 * (7 * 4 + 2 + 1)])

    def test_all_dtypes_travel(self) -> None:
        for dtype in DTYPES[1:]:
            if dtype is not None:
                with self.subTest(dtype=dtype):
                    self.assert_same("x): return x.clone()", f"[torch.randint(0, 2, (8,)).float().to({dtype})]")

    def test_a_float_is_held_to_the_dtype_that_made_it(self) -> None:
        for forward, dtype in (
            ("x): return x.sum().item()", torch.float32),
            ("x): return float(x.double().sum()), None", torch.float64),
            ("x): return x.half().sum().item() / 3", torch.float16),
            ("x): return float(len(x))", torch.float32),
        ):
            page = self.assert_same(forward, "[torch.rand(64)]")
            self.assertEqual(DTYPES[page.outputs[0].dtype], dtype, forward)

    def test_a_result_of_another_form_fails_in_words(self) -> None:
        _, answer = self.run_pair("x): return x + 1, None", "x): return x + 1, x", "[torch.rand(4)]")
        self.assert_failed(answer, Failure.WRONG_FORM, "out1 is a tensor, must be None")
        _, answer = self.run_pair("x): return x + 1", "x): return None", "[torch.rand(4)]")
        self.assert_failed(answer, Failure.WRONG_FORM, "output 0 is a NoneType, must be a tensor")

    def test_what_a_problem_may_not_have_is_told(self) -> None:
        for inputs, words in (
            (
                "[torch.rand(3, 3).to_sparse()]",
                "x is a torch.sparse_coo tensor; plain strided tensors can be handed over",
            ),
            ("[torch.nested.nested_tensor([torch.rand(2), torch.rand(3)])]", "x is a nested tensor"),
            ("[object()]", "x is a object; possible are tensors"),
            ("[[torch.rand(1)] * 70]", "at most 64 are possible"),
        ):
            problem = (
                HEAD + f"class Model(nn.Module):\n    def forward(self, x): return x\ndef get_inputs(): return {inputs}"
            )
            reference = self.child({"problem.py": problem}, role="reference")
            self.assert_failed(reference.do(Command.LOAD, 7), Failure.PROBLEM_INVALID, words)

    def test_constants_must_not_change(self) -> None:
        problem = HEAD + (
            "class Model(nn.Module):\n    def forward(self, x, cfg): return x * cfg['n']\n"
            "def get_inputs(): return [torch.rand(3), {'n': float(torch.rand(()))}]"
        )
        reference = self.child({"problem.py": problem}, role="reference")
        self.assert_ok(reference.do(Command.LOAD, 7))
        reference.layout()
        reference.share_window()
        self.assert_ok(reference.do(Command.ATTACH))
        words = "get_inputs() gave cfg in another structure, or with other constants in it, than at first"
        self.assert_failed(reference.do(Command.MAKE_INPUTS, 9), Failure.PROBLEM_INVALID, words)

    def test_constructor_arguments_of_all_forms(self) -> None:
        init = (
            "\n    def __init__(self, a, b=1):\n        super().__init__()\n"
            "        self.n = (a['k'] if isinstance(a, dict) else a) * (b['k'] if isinstance(b, dict) else b)\n"
        )
        for given in ("[3]", "[[3], {'b': 2}]", "{'a': 3, 'b': 2}", "[[3], {}]", "[3, {'k': 2}]", "[(), {'a': 2}]"):
            with self.subTest(given=given):
                text = HEAD + "class {}(nn.Module):" + init + "    def forward(self, x): return x * self.n\n"
                tail = f"def get_inputs(): return [torch.rand(3)]\ndef get_init_inputs(): return {given}\n"
                name = "Model" if given == "[3]" else "ModelNew"
                reference, submission = self.pair(text.replace("{}", "Model", 1) + tail, text.replace("{}", name, 1))
                self.assert_ok(submission.do(Command.LOAD, 7))


if __name__ == "__main__":
    unittest.main()
