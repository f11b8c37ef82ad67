"""Tests reference and submission children of a real zygote through real pages and windows."""

import os
import struct
import unittest

from harness.children.page import Command, Failure, Kind, Place, Seeds, TensorDesc
from world import ARENA_IS_EVERYWHERE, LIMIT_S, RELU, RELU_NEW, WorldTest

LINEAR = """
import torch
class Model(torch.nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.linear = torch.nn.Linear(n, m)
        self.register_buffer("scale", torch.randn(m))
    def forward(self, x, k, flag):
        y = self.linear(x) * self.scale * k
        return y, y.sum() if flag else 1.5
def get_inputs():
    return [torch.randn(4, 8), 3, True]
def get_init_inputs():
    return [8, 5]
"""


class Roundtrip(WorldTest):
    def test_a_submission_computes_what_the_reference_computes(self) -> None:
        reference, submission = self.pair(RELU, RELU_NEW)
        self.assert_ok(submission.do(Command.LOAD, 7))
        x, out = reference.page.inputs[0], reference.page.outputs[0]
        seen = set()
        for seed in (11, 12, 11):
            self.assert_ok(reference.do(Command.MAKE_INPUTS, seed))
            data = reference.bytes_of(x)
            submission.put(x, data)
            self.assert_ok(reference.do(Command.CALL, seed))
            self.assert_ok(submission.do(Command.CALL, seed))
            floats = struct.unpack("32f", data)
            self.assertEqual(struct.unpack("32f", submission.bytes_of(out)), tuple(max(v, 0.0) for v in floats))
            self.assertEqual(reference.bytes_of(out), submission.bytes_of(out))
            seen.add(data)
        self.assertEqual(len(seen), 2, "equal seeds give equal inputs, other seeds others")

    def test_a_problem_that_seeds_itself_gives_other_inputs_to_each_call(self) -> None:
        reference, _ = self.pair(
            RELU.replace("    return [torch.randn", "    torch.manual_seed(0)\n    return [torch.randn"), RELU_NEW
        )
        seen = []
        for seed in (11, 12, 11):
            self.assert_ok(reference.do(Command.MAKE_INPUTS, seed))
            seen.append(reference.bytes_of(reference.page.inputs[0]))
        self.assertEqual((seen[0] == seen[1], seen[0] == seen[2]), (False, True))

    def test_an_answer_in_one_command_is_that_of_the_single_ones(self) -> None:
        mutating = RELU.replace("torch.relu(x)", "x.mul_(2) + torch.rand_like(x)")
        reference, _ = self.pair(mutating, RELU_NEW)
        x, out = reference.page.inputs[0], reference.page.outputs[0]
        self.assert_ok(reference.do(Command.MAKE_INPUTS, 11))
        drawn = reference.bytes_of(x)
        self.assert_ok(reference.do(Command.CALL, 12))
        expected = reference.bytes_of(out)
        self.assertNotEqual(reference.bytes_of(x), drawn)
        for call_seed, is_same in ((12, True), (13, False)):
            reference.page.answer_count = 1
            reference.page.answers[0] = Seeds(11, call_seed)
            self.assert_ok(reference.do(Command.ANSWER))
            self.assertEqual(reference.bytes_of(x), drawn, "it is called on a copy")
            self.assertEqual(reference.bytes_of(out) == expected, is_same)
        submission = self.submission(RELU_NEW)
        self.assert_failed(submission.do(Command.ANSWER), Failure.RUNTIME_ERROR, "has no answers")

    def test_several_answers_in_one_command_are_each_that_of_its_seeds(self) -> None:
        mutating = RELU.replace("torch.relu(x)", "(x.mul_(2) + torch.rand_like(x), x.sum())")
        reference, _ = self.pair(mutating, RELU_NEW)
        page = reference.page
        width, slot_bytes = page.output_count, 4096
        rows = [TensorDesc.from_buffer_copy(page.outputs[i]) for i in range(width)]
        self.assertEqual(width, 2)
        alone = []
        seeds = [(11, 12), (11, 13), (14, 12)]
        page.answer_count = 1
        for seed in seeds:
            page.answers[0] = Seeds(*seed)
            self.assert_ok(reference.do(Command.ANSWER))
            alone.append([reference.bytes_of(e) for e in (page.inputs[0], *page.outputs[:width])])
        self.assertEqual(len({x for x, *_ in alone}), 2)
        self.assertEqual(len({y for _, y, _ in alone}), 3)
        page.slot_bytes, page.slots, page.answer_count, page.output_count = slot_bytes, 4, 3, 3 * width
        for i, seed in enumerate(seeds):
            page.answers[i] = Seeds(*seed)
            for j, row in enumerate(rows):
                page.outputs[i * width + j] = row
        self.assert_ok(reference.do(Command.ANSWER))
        self.assertEqual(page.output_count, 3 * width)
        for i, expected in enumerate(alone):
            found = [page.inputs[0], *page.outputs[i * width : (i + 1) * width]]
            for entry, data in zip(found, expected, strict=True):
                at = TensorDesc.from_buffer_copy(entry)
                at.offset += i * slot_bytes
                self.assertEqual(reference.bytes_of(at), data)

    def test_a_model_that_changes_what_it_is_given_changes_neither_the_window_nor_what_is_drawn_for_long(self) -> None:
        changing = RELU.replace("torch.relu(x)", "x.mul_(2)")
        kept = f"{changing}\nKEPT = torch.ones(4)\ndef get_inputs(): return [KEPT]\n"
        reference, _ = self.pair(kept, RELU_NEW)
        page = reference.page
        page.answer_count = 1
        seen = []
        for _ in range(4):
            self.assert_ok(reference.do(Command.ANSWER))
            x, y = (memoryview(reference.bytes_of(e)).cast("f")[0] for e in (page.inputs[0], page.outputs[0]))
            self.assertEqual(y, 2 * x)
            seen.append(x)
        self.assertEqual(seen[1:], [seen[1]] * 3)

    def test_a_model_is_called_in_the_first_load_of_a_workload_only(self) -> None:
        counting = RELU.replace("class Model", "calls = 0\nclass Model").replace(
            "        return torch.relu(x)",
            "        global calls\n        calls += 1\n        return torch.full((2, 3), float(calls)), {'k': x}",
        )
        reference, _ = self.pair(counting, RELU_NEW)
        for seed in (8, 9):
            self.assert_ok(reference.do(Command.LOAD, seed))
        page = reference.page
        self.assertEqual((page.output_count, list(page.outputs[0].shape[:2])), (2, [2, 3]))
        self.assertGreater(page.output_tree_bytes, 0)
        reference.layout()
        self.assert_ok(reference.do(Command.MAKE_INPUTS, 11))
        self.assert_ok(reference.do(Command.CALL, 12))
        self.assertEqual(struct.unpack("6f", reference.bytes_of(page.outputs[0])), (2.0,) * 6)

    def test_a_model_that_gets_its_state_in_a_call_is_called_in_every_load(self) -> None:
        caching = RELU.replace(
            "        return torch.relu(x)",
            "        self.register_buffer('cache', x.mean(0))\n        return x - self.cache",
        )
        reference, _ = self.pair(caching, RELU_NEW)
        for seed in (8, 9):
            self.assert_ok(reference.do(Command.LOAD, seed))
            self.assertEqual([entry.name for entry in reference.page.states[: reference.page.state_count]], [b"cache"])

    def test_a_small_output_lies_in_another_block_than_that_of_the_last_call(self) -> None:
        large = RELU.replace("torch.randn(4, 8)", "torch.randn(64, 64)")
        for is_reference in (False, True):
            reference, submission = self.pair(large, large.replace("Model", "ModelNew"))
            self.assert_ok(submission.do(Command.LOAD, 7))
            child = reference if is_reference else submission
            child.page.keeps_outputs = 1
            row = TensorDesc.from_buffer_copy(child.page.outputs[0])
            places = []
            for seed in range(11, 15):
                child.page.outputs[0] = row
                if is_reference:
                    self.assert_ok(child.do(Command.MAKE_INPUTS, seed))
                self.assert_ok(child.do(Command.STAGE, seed))
                self.assert_ok(child.do(Command.CALL, seed))
                self.assertEqual(child.page.outputs[0].place, Place.PROCESS)
                places.append(child.page.outputs[0].offset)
            self.assertTrue(all(a != b for a, b in zip(places, places[1:])), places)

    def test_a_model_is_gone_before_the_next_one_is_made(self) -> None:
        counted = """
    living = 0
    def __init__(self):
        super().__init__()
        assert Model.living == 0
        Model.living += 1
    def __del__(self):
        Model.living -= 1
    def forward"""
        reference, _ = self.pair(RELU.replace("\n    def forward", counted), RELU_NEW)
        for seed in (8, 9):
            self.assert_ok(reference.do(Command.LOAD, seed))

    def test_inputs_that_are_one_tensor_are_two_to_the_model_as_they_are_in_the_window(self) -> None:
        source = RELU.replace("forward(self, x)", "forward(self, x, z)").replace("torch.relu(x)", "x.mul_(2) + z")
        reference, _ = self.pair(f"{source}\ndef get_inputs():\n    x = torch.rand(4)\n    return [x, x]\n", RELU_NEW)
        page = reference.page
        page.answer_count = 1
        self.assert_ok(reference.do(Command.ANSWER))
        x, y = (memoryview(reference.bytes_of(e)).cast("f")[0] for e in (page.inputs[0], page.outputs[0]))
        self.assertAlmostEqual(y, 3 * x, places=5)

    def test_of_several_answers_none_stays_in_the_arena(self) -> None:
        patch = (
            "import harness.children.command_handler\n"
            "harness.children.command_handler.CommandHandler._lies_in_arena = lambda self, output, "
            "entry: True\n"
        )
        reference, _ = self.pair(RELU + patch, RELU_NEW)
        page = reference.page
        out = TensorDesc.from_buffer_copy(page.outputs[0])
        nothing = bytes(out.bytes)
        page.slot_bytes = 4096
        for count in (1, 2, 1):
            page.answer_count = page.output_count = count
            for i in range(count):
                page.answers[i] = Seeds(i, i)
                page.outputs[i] = out
                at = TensorDesc.from_buffer_copy(out)
                at.offset += i * page.slot_bytes
                reference.put(at, nothing)
            self.assert_ok(reference.do(Command.ANSWER))
            self.assertEqual(reference.bytes_of(out) == nothing, count == 1)
            if count > 1:
                self.assertNotEqual(reference.bytes_of(at), nothing)

    def test_an_input_stays_in_the_arena_where_the_judge_asks_for_it_there(self) -> None:
        told = "    entry.place, entry.offset = 1, 12345\n    return True\n"
        patch = (
            f"import harness.children.command_handler\ndef lies(self, value, entry):\n"
            f"{told}harness.children.command_handler.CommandHandler._lies_in_arena = lies\n"
        )
        for forward, stays in (("torch.relu(x)", True), ("x.mul_(2)", False)):
            reference, _ = self.pair(RELU.replace("torch.relu(x)", forward) + patch, RELU_NEW)
            page = reference.page
            page.answer_count = 1
            x, out = (TensorDesc.from_buffer_copy(rows[0]) for rows in (page.inputs, page.outputs))
            for place in (Place.WINDOW, Place.ARENA):
                reference.put(x, bytes(x.bytes))
                page.inputs[0], page.outputs[0] = x, out
                page.inputs[0].place = place
                is_asked = place == Place.ARENA
                self.assert_ok(reference.do(Command.ANSWER, 7))
                self.assertEqual(
                    (page.inputs[0].place, page.inputs[0].offset), (1, 12345) if is_asked and stays else (0, x.offset)
                )
                self.assertEqual(reference.bytes_of(x) == bytes(x.bytes), is_asked and stays)
        # The reference does not know yet that this model changes its inputs, so it repeats the call with copies.
        reference, _ = self.pair(RELU.replace("torch.relu(x)", "x.mul_(2)") + patch, RELU_NEW)
        page = reference.page
        page.answer_count, page.inputs[0].place = 1, Place.ARENA
        x = TensorDesc.from_buffer_copy(page.inputs[0])
        self.assert_ok(reference.do(Command.ANSWER, 7))
        self.assertEqual((page.inputs[0].place, page.inputs[0].offset), (Place.WINDOW, x.offset))
        self.assertNotEqual(reference.bytes_of(x), bytes(x.bytes))

    def test_tables_name_arguments_outputs_and_states(self) -> None:
        reference, _ = self.pair(LINEAR, LINEAR)
        page = reference.page
        self.assertEqual([e.name for e in page.inputs[: page.input_count]], [b"x", b"k", b"flag"])
        self.assertEqual([e.kind for e in page.inputs[:3]], [Kind.TENSOR, Kind.INTEGER, Kind.BOOLEAN])
        self.assertEqual([e.integer for e in page.inputs[1:3]], [3, 1])
        self.assertEqual([list(e.shape[: e.ndim]) for e in page.outputs[: page.output_count]], [[4, 5], []])
        states = {state.name for state in page.states[: page.state_count]}
        self.assertEqual(states, {b"linear.weight", b"linear.bias", b"scale"})

    def test_state_is_taken_where_name_and_shape_match(self) -> None:
        # Drawing in another order makes other weights, so only the reference's state makes the outputs equal.
        new = LINEAR.replace("class Model", "class ModelNew").replace(
            "super().__init__()", "super().__init__(); torch.randn(100)"
        )
        reference, submission = self.pair(LINEAR, new)
        self.assert_ok(submission.do(Command.LOAD, 8))
        self.assert_ok(reference.do(Command.MAKE_INPUTS, 3))
        submission.put(reference.page.inputs[0], reference.bytes_of(reference.page.inputs[0]))
        self.assert_ok(reference.do(Command.CALL))
        self.assert_ok(submission.do(Command.CALL))
        for out in reference.page.outputs[:2]:
            self.assertEqual(reference.bytes_of(out), submission.bytes_of(out))

    def test_a_lazy_model_computes_what_a_lazy_reference_does(self) -> None:
        lazy = LINEAR.replace("torch.nn.Linear(n, m)", "torch.nn.LazyLinear(m)")
        reference, submission = self.pair(lazy, lazy.replace("class Model", "class ModelNew"))
        self.assert_ok(submission.do(Command.LOAD, 8))
        self.assert_ok(reference.do(Command.MAKE_INPUTS, 3))
        submission.put(reference.page.inputs[0], reference.bytes_of(reference.page.inputs[0]))
        self.assert_ok(reference.do(Command.CALL))
        self.assert_ok(submission.do(Command.CALL))
        self.assertEqual(reference.bytes_of(reference.page.outputs[0]), submission.bytes_of(reference.page.outputs[0]))

    def test_a_compiled_reference_answers_as_the_reference_after_every_load(self) -> None:
        # Dynamo is the real one; inductor is replaced, because it would run a C++ compiler for half a minute.
        reference, _ = self.pair(
            f"{LINEAR}\nimport harness.children.reference\nharness.children.reference.BACKEND = 'eager'\n", LINEAR
        )
        outputs = set()
        for seed in (8, 9):
            self.assert_ok(reference.do(Command.LOAD, seed))
            reference.layout()
            self.assert_ok(reference.do(Command.COMPILE, seed))
            self.assert_ok(reference.do(Command.MAKE_INPUTS, 3))
            self.assert_ok(reference.do(Command.CALL, seed))
            out = reference.page.outputs[0]
            expected = reference.bytes_of(out)
            reference.put(out, bytes(out.bytes))
            self.assert_ok(reference.do(Command.CALL_COMPILED, seed))
            self.assertEqual(reference.bytes_of(out), expected)
            outputs.add(expected)
        self.assertEqual(len(outputs), 2, "another seed is another state")

    def test_what_torch_compile_cannot_take_is_told(self) -> None:
        problem = f"{RELU}\nimport harness.children.reference\nharness.children.reference.BACKEND = 'nobody'\n"
        reference, submission = self.pair(problem, RELU_NEW)
        self.assert_failed(reference.do(Command.COMPILE), Failure.UNSUPPORTED_HERE, "torch.compile cannot take it here")
        self.assert_failed(submission.do(Command.COMPILE), Failure.RUNTIME_ERROR, "compiles nothing")

    def test_precision_casts_floating_tensors_only(self) -> None:
        problem = RELU.replace("torch.relu(x)", "torch.relu(x) + i").replace("self, x", "self, x, i")
        problem = problem.replace("[torch.randn(4, 8)]", "[torch.randn(4, 8), torch.arange(8)]")
        reference, _ = self.pair(problem, problem, precision="bf16")
        self.assertEqual([e.dtype for e in reference.page.inputs[:2]], [4, 5])
        self.assertEqual(reference.page.outputs[0].dtype, 4)

    def test_what_a_submission_returns_is_said_as_it_is(self) -> None:
        for result, dtype, shape in (("x.double()", 1, [4, 8]), ("x[:2]", 2, [2, 8]), ("3.5", 1, [])):
            submission = self.submission(RELU_NEW.replace("torch.relu(x)", result))
            self.assert_ok(submission.do(Command.LOAD))
            before = submission.bytes_of(submission.page.outputs[0])
            self.assert_ok(submission.do(Command.CALL))
            out = submission.page.outputs[0]
            self.assertEqual((out.dtype, list(out.shape[: out.ndim])), (dtype, shape))
            self.assertEqual(submission.bytes_of(out)[: len(before)], before[: out.bytes], "nothing is copied")

    def test_a_null_call_answers(self) -> None:
        child = self.child({"problem.py": RELU, "new.py": RELU_NEW})
        child.share_window()
        self.assert_ok(child.do(Command.ATTACH))
        for _ in range(3):
            self.assert_ok(child.do(Command.NULL_CALL))

    def test_a_burst_calls_on_the_slots_it_is_told(self) -> None:
        self.burst_on_slots(RELU_NEW)

    def test_an_output_that_is_written_again_in_a_burst_is_brought_each_time(self) -> None:
        again = "torch.clamp(x, min=0, out=vars(self).setdefault('y', torch.empty_like(x)))"
        self.burst_on_slots(RELU_NEW.replace("torch.relu(x)", again) + ARENA_IS_EVERYWHERE)

    def burst_on_slots(self, new: str) -> None:
        reference, submission = self.pair(RELU, new)
        self.assert_ok(submission.do(Command.LOAD, 7))
        page, slots, called = submission.page, 6, [4, 0, 3]
        page.slots, page.calls = slots, len(called)
        page.slot_bytes = sum((page.inputs[0].bytes, page.outputs[0].bytes, 1024)) // 256 * 256
        page.outputs[1], page.outputs[2], page.output_count = page.outputs[0], page.outputs[0], 3
        expected = {}
        for slot in called:
            self.assert_ok(reference.do(Command.MAKE_INPUTS, 10 + slot))
            self.assert_ok(reference.do(Command.CALL, 1))
            expected[slot] = reference.bytes_of(reference.page.outputs[0])
            begin = slot * page.slot_bytes + page.inputs[0].offset
            submission.window[begin : begin + page.inputs[0].bytes] = reference.bytes_of(page.inputs[0])
        self.assert_ok(submission.do(Command.STAGE_BURST))
        page.returned, page.turn = 0, 1 << 16 | called[0]
        submission.begin(Command.BURST)
        for number, slot in enumerate([*called[1:], 0xFFFF], start=2):
            while page.returned < number - 1 and page.done != page.go:
                pass
            page.turn = number << 16 | slot
        self.assertTrue(submission.is_done(LIMIT_S))
        self.assertEqual((page.status, page.output_count, page.returned), (0, 3, 3))
        for slot in range(slots):
            begin = slot * page.slot_bytes + page.outputs[0].offset
            got = bytes(submission.window[begin : begin + page.outputs[0].bytes])
            self.assertEqual(got, expected.get(slot, bytes(len(got))), slot)

    def test_an_audited_child_tells_whether_anybody_listens(self) -> None:
        """Without a GPU CUPTI cannot report anything; tests/gpu/audit_gpu_test.cc tests what it reports on one."""
        child = self.child({"problem.py": RELU, "new.py": RELU_NEW}, audit=True)
        child.share_window()
        self.assert_ok(child.do(Command.ATTACH))
        self.assertRegex(os.read(child.audit_fd, 4096).decode(), "^(on|off)\t")
        child.kill()
        self.assertEqual(os.read(child.audit_fd, 4096), b"", "nobody else holds the pipe")
        os.close(child.audit_fd)


class Problems(WorldTest):
    def load(self, problem: str) -> tuple:
        return self.child({"problem.py": problem}, role="reference").do(Command.LOAD)

    def test_a_reference_that_fails_is_invalid_in_words(self) -> None:
        cases = {
            "raise ValueError('so')": "ValueError: so (problem.py:1)",
            "x = (": "SyntaxError",
            "x = 1": "problem.py defines no Model",
            RELU.replace("torch.relu(x)", "{'a': object()}"): "out['a'] is a object; possible are tensors",
            RELU.replace("torch.relu(x)", "x, (x, {1})"): "out1[1] is a set; possible are tensors",
            RELU.replace("torch.relu(x)", "None"): "0 outputs",
            RELU.replace("torch.relu(x)", "()"): "0 outputs",
            RELU.replace("torch.relu(x)", "undefined"): "NameError",
            RELU.replace("[torch.randn(4, 8)]", "[[1, {2}]]"): "x[1] is a set; possible are tensors",
            RELU.replace("[torch.randn(4, 8)]", "7"): "get_inputs() returned a int",
            "import sys; sys.exit(0)": "SystemExit",
        }
        for problem, words in cases.items():
            with self.subTest(words):
                self.assert_failed(self.load(problem), Failure.PROBLEM_INVALID, words)

    def test_a_reference_that_disagrees_with_itself_is_invalid(self) -> None:
        growing = "import torch\nCOUNT = [3]\n" + RELU.replace(
            "return [torch.randn(4, 8)]", "COUNT[0] += 1; return [torch.randn(COUNT[0])]"
        )
        reference = self.child({"problem.py": growing}, role="reference")
        self.assert_ok(reference.do(Command.LOAD))
        reference.layout()
        reference.share_window()
        self.assert_ok(reference.do(Command.ATTACH))
        self.assert_failed(
            reference.do(Command.MAKE_INPUTS), Failure.PROBLEM_INVALID, "shapes and strides must not change"
        )
        flipping = "N = [0]\n" + RELU.replace("return torch.relu(x)", "N[0] += 1; return x[: N[0]]")
        reference, _ = self.pair(flipping, flipping)
        self.assert_failed(reference.do(Command.CALL), Failure.PROBLEM_INVALID, "disagrees with itself")


class Failures(WorldTest):
    def answer(self, new: str, command: Command = Command.CALL) -> tuple:
        submission = self.submission(new)
        answer = submission.do(Command.LOAD)
        if command == Command.LOAD:
            return answer
        self.assert_ok(answer)
        return submission.do(command)

    def test_load(self) -> None:
        cases = {
            "x = (": "(new.py:1)",
            "x = 1": "new.py defines no ModelNew",
            RELU_NEW.replace("import torch", "import nonsense_module"): "No module named 'nonsense_module'",
            RELU_NEW + "raise SystemExit(0)": "SystemExit: 0",
        }
        for new, words in cases.items():
            with self.subTest(words):
                self.assert_failed(self.answer(new, Command.LOAD), Failure.LOAD_FAILED, words)

    def test_call(self) -> None:
        def new(body: str) -> str:
            return RELU_NEW.replace("torch.relu(x)", body)

        cases = [
            (new("1 / 0"), Failure.RUNTIME_ERROR, "ZeroDivisionError: division by zero (new.py:5)"),
            (new("exit(0)"), Failure.RUNTIME_ERROR, "SystemExit"),
            (new("(_ for _ in ()).throw(KeyboardInterrupt)"), Failure.RUNTIME_ERROR, "KeyboardInterrupt"),
            (new("'words'"), Failure.WRONG_FORM, "output 0 is a str, must be a tensor"),
            (new("x.cuda()"), Failure.UNSUPPORTED_HERE, ""),
            (new("torch.empty(1 << 50)"), Failure.OUT_OF_HOST_MEMORY, ""),
            (new("bytearray(1 << 50)"), Failure.OUT_OF_HOST_MEMORY, "MemoryError"),
        ]
        for source, failure, words in cases:
            with self.subTest(words):
                self.assert_failed(self.answer(source), failure, words)

    def test_call_before_load(self) -> None:
        submission = self.submission(RELU_NEW)
        self.assert_failed(submission.do(Command.CALL), Failure.RUNTIME_ERROR, "nothing is loaded")


if __name__ == "__main__":
    unittest.main()
