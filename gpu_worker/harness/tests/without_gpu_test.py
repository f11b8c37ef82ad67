"""Tests what a child without a GPU says of code that wants one, and what triton's interpreter makes of kernels."""

import array
import unittest

from harness.children.failures import classify, describe
from harness.children.page import Command, Failure
from world import WorldTest

HEAD = """
import torch, triton
import triton.language as tl
import torch.nn as nn
"""
MODEL = """
class ModelNew(nn.Module):
    def forward(self, x):
        {body}
"""
KERNEL = """
{decorator}
@triton.jit
def kernel(x, out, n, B: tl.constexpr = 16):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
{steps}
    tl.store(out + i, v, mask=i < n)
"""
LAUNCH = """
class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        {launch}
        return out
"""
PLAIN = "kernel[(2,)](x, out, x.numel())"
TUNED = "kernel[lambda m: (triton.cdiv(x.numel(), m['B']),)](x, out, x.numel())"
BF16 = "y = x.to(torch.bfloat16); z = torch.empty_like(y); kernel[(2,)](y, z, x.numel()); out.copy_(z)"
RELU = "v = tl.maximum(v, 0.0)"

# Statements that fail because a tensor is not on a GPU.
WANTS_A_GPU = (
    "assert x.is_cuda",
    "assert x.device.type == 'cuda', 'bad input'",
    "assert 'cuda' in str(x.device)",
    "assert x.device == DEVICE",
    "assert x.get_device() >= 0",
    "if not x.is_cuda: raise ValueError('bad input')",
    "raise RuntimeError('expected a CUDA tensor')",
    "torch._check(x.is_cuda, lambda: 'bad input')",
    "checked(x.is_cuda, 'input must be on the GPU')",
    "x = x.cuda()",
    "x = torch.zeros(1, device=DEVICE)",
    "torch.cuda.synchronize()",
    "torch.ops.aten._thnn_fused_lstm_cell(x, x, x)",
)
# Mistakes that would be mistakes on a GPU, too.
MISTAKES = (
    ("x @ torch.zeros(3, 3)", "cannot be multiplied"),
    ("y = missing_cuda_kernel(x)", "NameError"),
    ("torch.cuda.nothing_of_that_name(x)", "AttributeError"),
    ("assert x.shape[0] == 5, 'four rows'", "four rows"),
    ("raise ValueError('wrong shape')", "wrong shape"),
    ("if x.is_cuda: pass\n        else: x.view(5, 5)", "is invalid for input of size"),
    ("y = {}['cuda']", "KeyError"),
)
LIBRARY = "v = tl.extra.cuda.libdevice.tanh(v)"
# Steps of a kernel that the interpreter cannot do, and words of the answer.
LIMITS = (
    ('v = tl.inline_asm_elementwise("mov.f32 $0, $1;", "=f,f", [v], tl.float32, True, 1)', "inline_asm"),
    (LIBRARY, ""),
    ("v = tl.maximum((v.to(tl.bfloat16) + v.to(tl.bfloat16)).to(tl.float32), 0.0)", "fadd on bf16"),
    ("v = (v.to(tl.bfloat16) * 2.0).to(tl.float32)", "bf16"),
    ("v = tl.sum(v.to(tl.bfloat16), 0).to(tl.float32) + v", "on bf16"),
    ("v = tl.where(v.to(tl.bfloat16) > tl.zeros((B,), tl.bfloat16), v, 0.0)", "on bf16"),
    ("v = v.to(tl.float8e5).to(tl.float32)", "fp_to_fp on fp8e5"),
    ("v = i.to(tl.bfloat16).to(tl.float32)", "on bf16"),
    ("for k in range(0, n, 32): v += k.to(tl.float32)", "'int' object has no attribute 'to'"),
    ("v = v * B.value", "'int' object has no attribute 'value'"),
    (
        "a = tl.reshape(v, (4, 4)).to(tl.bfloat16)\n    v = tl.reshape(tl.dot(a, a), (16,))",
        "dot on bf16",
    ),
)
# Steps of a kernel that are wrong everywhere.
WRONG = (
    ("v = tl.nonsense(v)", "nonsense"),
    ("v = missing + v", "NameError"),
    ("v = v + tl.arange(0, 2 * B)", "shape"),
    ("tl.static_assert(B == 17)", "AssertionError"),
    ("v = tl.dot(v, v)", ""),
    ("v = v + tl.arange(0, 3)", "power of 2"),
)
# Steps that compute relu and must be right.
RIGHT = (
    RELU,
    "for k in range(0, n, 16): v = tl.maximum(v, 0.0)",
    "for k in tl.range(0, n, 16, num_stages=2): v = tl.maximum(v, 0.0)",
    "k = 0\n    while k < n:\n        v = tl.maximum(v, 0.0)\n        k += 16",
    "for k in tl.static_range(2): v = tl.maximum(v, 0.0)",
    "v = tl.maximum(v.to(tl.bfloat16).to(tl.float32), 0.0)",
    "v = tl.where(v > 0, v, tl.zeros((B,), tl.bfloat16).to(tl.float32))",
)


def kernel(steps: str, launch: str = PLAIN, decorator: str = "") -> str:
    body = "\n".join(f"    {line}" if not line.startswith(" ") else line for line in steps.split("\n"))
    return HEAD + KERNEL.format(decorator=decorator, steps=body) + LAUNCH.format(launch=launch)


class WithoutGpu(WorldTest):
    def answer(self, new: str) -> tuple[object, Failure, str]:
        self.last = self.submission(new, backend="triton")
        answer = self.last.do(Command.LOAD)
        if answer[1] is not Failure.NONE:
            return answer
        self.x = array.array("f", (i - 16 for i in range(32)))
        self.last.put(self.last.page.inputs[0], self.x.tobytes())
        return self.last.do(Command.CALL)

    def assert_relu(self, new: str) -> None:
        self.assert_ok(self.answer(new))
        expected = array.array("f", (max(value, 0) for value in self.x))
        self.assertEqual(array.array("f", self.last.bytes_of(self.last.page.outputs[0])), expected)

    def assert_missing(self, new: str, words: str) -> None:
        answer = self.answer(new)
        self.assert_failed(answer, Failure.UNSUPPORTED_HERE, words)
        self.assertRegex(answer[2], r"^(this worker|torch) .*: a worker with a GPU .*can run it; it said ")

    def test_code_that_asks_for_a_gpu_says_nothing_without_one(self) -> None:
        head = HEAD + "DEVICE = torch.device('cuda')\ndef checked(holds, text):\n    assert holds, text\n"
        for line in WANTS_A_GPU:
            with self.subTest(line):
                self.assert_missing(head + MODEL.format(body=f"{line}\n        return x"), "")

    def test_a_mistake_stays_the_codes_own(self) -> None:
        for line, words in MISTAKES:
            with self.subTest(line):
                answer = self.answer(HEAD + MODEL.format(body=f"{line}\n        return x"))
                self.assert_failed(answer, Failure.RUNTIME_ERROR, words)

    def test_a_missing_language_is_no_mistake(self) -> None:
        for module in ("cutlass.cute as cute", "tilelang", "helion", "cuda.tile", "triton.language.extra.missing"):
            with self.subTest(module):
                name = module.partition(" ")[0]
                self.assert_missing(f"import {module}\n", f"lacks the Python module {name.partition('.')[0]}")
        for module in ("tensorflux_kernels", "torch.missing", "triton.missing"):
            with self.subTest(module):
                self.assert_failed(self.answer(f"import {module}\n"), Failure.LOAD_FAILED, "ModuleNotFoundError")

    def test_a_missing_language_is_no_mistake_on_a_gpu_either(self) -> None:
        for name, failure in (("cutlass.cute", Failure.UNSUPPORTED_HERE), ("no_such", Failure.LOAD_FAILED)):
            error = ModuleNotFoundError(f"No module named {name!r}", name=name)
            self.assertIs(classify(error, Failure.LOAD_FAILED, on_gpu=True), failure)
        words = describe(
            ModuleNotFoundError("No module named 'tilelang'", name="tilelang"), "", Failure.UNSUPPORTED_HERE
        )
        self.assertIn("this worker lacks the Python module tilelang", words)
        installed = ImportError("cannot import name 'x' from 'cutlass'", name="cutlass")
        self.assertIs(classify(installed, Failure.LOAD_FAILED, on_gpu=True), Failure.LOAD_FAILED)
        self.assertIs(classify(RuntimeError("no CUDA"), Failure.RUNTIME_ERROR, on_gpu=True), Failure.RUNTIME_ERROR)

    def test_what_the_interpreter_cannot_do_says_nothing(self) -> None:
        for steps, words in LIMITS:
            with self.subTest(steps):
                self.assert_missing(kernel(steps), words)

    def test_arithmetic_on_bits_is_not_hidden_by_a_fallback(self) -> None:
        launch = "try: kernel[(2,)](x, out, x.numel())\n        except Exception: return torch.relu(x)"
        steps = "v = (v.to(tl.bfloat16) + v.to(tl.bfloat16)).to(tl.float32)"
        self.assert_missing(kernel(steps, launch), "fadd on bf16")

    def test_a_helper_of_a_kernel_has_the_same_limits(self) -> None:
        helper = "@triton.jit\ndef helper(v):\n    return {}\n"
        for value, failure in (
            ("v.to(tl.bfloat16) * v.to(tl.bfloat16)", Failure.UNSUPPORTED_HERE),
            ("tl.nonsense(v)", Failure.RUNTIME_ERROR),
        ):
            new = kernel("v = helper(v).to(tl.float32)").replace(
                "class ModelNew", helper.format(value) + "class ModelNew"
            )
            self.assert_failed(self.answer(new), failure, "")

    def test_a_wrong_kernel_stays_wrong(self) -> None:
        for steps, words in WRONG:
            with self.subTest(steps):
                self.assert_failed(self.answer(kernel(steps)), Failure.RUNTIME_ERROR, words)
        for launch in (
            "kernel[(1.5,)](x, out, x.numel())",
            "kernel[(1, 1, 1, 1)](x, out, 1)",
            "kernel[(1,)](x)",
        ):
            with self.subTest(launch):
                self.assert_failed(self.answer(kernel(RELU, launch)), Failure.RUNTIME_ERROR, "")

    def test_the_place_of_a_mistake_is_within_the_kernel(self) -> None:
        source = kernel("v = missing + v")
        line = source.splitlines().index("    v = missing + v") + 1
        answer = self.answer(source)
        self.assertRegex(answer[2], rf"^NameError: name 'missing' is not defined \(.*\.py:{line}\)$")

    def test_a_missing_module_beside_the_kernel_is_told_what_it_takes(self) -> None:
        answer = self.answer("import common_parts\n")
        self.assert_failed(answer, Failure.LOAD_FAILED, "found only if they were submitted with it")

    def test_a_syntax_error_has_its_place_once(self) -> None:
        error = SyntaxError("invalid syntax", ("/job/b.py", 1, 8, "syntax error here", 1, 13))
        self.assertEqual(describe(error, "/job"), "SyntaxError: invalid syntax (b.py:1)")

    def test_a_right_kernel_is_right(self) -> None:
        for steps in RIGHT:
            with self.subTest(steps):
                self.assert_relu(kernel(steps))

    def test_a_conversion_to_bf16_rounds_to_the_nearest(self) -> None:
        steps = "v = v / 100.0 + v * 0.01\n    w = v.to(tl.bfloat16)\n    v = w.to(tl.float32)"
        self.assert_ok(self.answer(kernel(steps)))
        import torch

        x = torch.tensor(self.x)
        expected = (x / 100.0 + x * 0.01).bfloat16().float().tolist()
        self.assertEqual(array.array("f", self.last.bytes_of(self.last.page.outputs[0])).tolist(), expected)

    def test_bf16_inputs_are_fine_where_the_kernel_computes_in_float32(self) -> None:
        self.assert_relu(kernel("v = tl.maximum(v.to(tl.float32), 0.0).to(tl.bfloat16)", BF16))

    def test_fp8_inputs_are_fine_where_the_kernel_computes_in_float32(self) -> None:
        import torch

        for name in ("float8_e5m2", "float8_e4m3fn"):
            with self.subTest(name):
                launch = f"kernel[(2,)](x.to(torch.{name}), out, x.numel())"
                self.assert_ok(self.answer(kernel("v = v.to(tl.float32)", launch).replace(", other=0.0", "")))
                got = array.array("f", self.last.bytes_of(self.last.page.outputs[0])).tolist()
                self.assertEqual(got, torch.tensor(self.x).to(getattr(torch, name)).float().tolist())

    def test_an_autotuner_takes_the_first_configuration_that_pruning_leaves(self) -> None:
        tuned = (
            "@triton.autotune([triton.Config({'B': b}, num_warps=w) for b in (32, 8, 16) for w in (2, 4)], key=['n'],"
            " prune_configs_by={'early_config_prune': lambda c, args, **_: [one for one in c if one.kwargs['B'] < 32]})"
        )
        check = "assert kernel.best_config.kwargs == {'B': 8} and kernel.best_config.num_warps == 2"
        new = kernel(RELU, f"{TUNED}\n        {check}", tuned).replace("constexpr = 16", "constexpr")
        self.assert_relu(new)

    def test_an_autotuner_runs_its_hooks_as_on_a_gpu(self) -> None:
        """The kernel adds to its output, so that a second launch without a reset doubles the result."""
        adds = "    tl.atomic_add(out + i, v, mask=i < n)"
        for options, is_right in (
            ("reset_to_zero=['out']", True),
            ("restore_value=['out']", True),
            ("pre_hook=lambda args, reset_only=False: args['out'].zero_()", True),
            ("post_hook=lambda args, exception: args['out'].zero_()", True),
            ("", False),
        ):
            with self.subTest(options):
                tuned = (
                    f"@triton.autotune([triton.Config({{'B': 8}}), triton.Config({{'B': 16}})], key=['n'], {options})"
                )
                new = kernel(RELU, f"out.zero_(); {TUNED}", tuned).replace("constexpr = 16", "constexpr")
                new = new.replace("    tl.store(out + i, v, mask=i < n)", adds)
                self.assert_ok(self.answer(new))
                got = array.array("f", self.last.bytes_of(self.last.page.outputs[0])).tolist()
                self.assertEqual(got == [max(value, 0) for value in self.x], is_right)


if __name__ == "__main__":
    unittest.main()
