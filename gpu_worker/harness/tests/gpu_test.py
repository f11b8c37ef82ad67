"""Tests the harness on a GPU: windows in device memory, every backend, and the ways in which a GPU fails. The tests
fail without a GPU.
"""

import json
import subprocess
import sys
import time
import unittest
from pathlib import Path

from backends_test import TRITON
from build_test import ADD
from harness.children.page import Command, Failure, Place
from roundtrip_test import LINEAR
from world import RELU, RELU_NEW, Child, WorldTest

RELU_CU = ADD.replace("x[i] + 1.0f", "x[i] > 0 ? x[i] : 0")
RELU_JSON = {
    "launch": {"grid": {"x": 1}, "block": {"x": 32}},
    "args": [
        {"name": "x", "type": "tensor", "tensor_spec": {"shape": [4, 8]}},
        {"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [4, 8]}},
        {"name": "n", "type": "int", "value": 32},
    ],
}

# A kernel that is autotuned in its first call.
AUTOTUNED = (
    TRITON.replace(
        "@triton.jit",
        "@triton.autotune([triton.Config({'BLOCK': 16}), triton.Config({'BLOCK': 32})], key=['n'])\n@triton.jit",
    )
    .replace(", BLOCK=16)", ")")
    .replace("(triton.cdiv(x.numel(), 16),)", "lambda m: (triton.cdiv(32, m['BLOCK']),)")
)

# A process as the zygote makes it, and its child, which runs kernels of torch, cuBLAS and cuDNN. Prints how much of the
# decompressed code the child has read, in KiB.
SHARED_CODE = """
import os, sys, torch
from harness.zygote import shared_code
print(shared_code.share(int(sys.argv[1]), 4 << 30) >> 20, "MiB decompressed", file=sys.stderr)
if os.fork() == 0:
    a = torch.arange(64.0).view(8, 8)
    b = a.cuda()
    image, filters = a.view(1, 1, 8, 8), torch.ones(1, 1, 3, 3)
    convolved = torch.nn.functional.conv2d(image.cuda(), filters.cuda()).cpu()
    assert torch.equal(convolved, torch.nn.functional.conv2d(image, filters))
    assert torch.equal((b @ b).cpu(), a @ a) and torch.equal(torch.relu(-b).cpu(), torch.relu(-a))
    with open("/proc/self/smaps") as maps:
        after = maps.read().split("kq_device_code", 1)[1]
    print(after.split("Rss:", 1)[1].split()[0], flush=True)
    os._exit(0)
os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


class SharedCode(unittest.TestCase):
    def test_children_run_decompressed_code(self) -> None:
        asked = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
        capability = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0]
        program = [sys.executable, "-c", SHARED_CODE, capability.replace(".", "")]
        done = subprocess.run(program, capture_output=True, text=True, timeout=100)
        print("decompressed code:", done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(done.stdout), 1000, "the child has not read the decompressed code")


class OnGpu(WorldTest):
    device = "cuda"

    def compare(self, reference: Child, submission: Child) -> None:
        for seed in (1, 2, 3):
            self.assert_ok(reference.do(Command.MAKE_INPUTS, seed))
            for entry in reference.page.inputs[: reference.page.input_count]:
                submission.put(entry, reference.bytes_of(entry))
            self.assert_ok(reference.do(Command.CALL, seed))
            self.assert_ok(submission.do(Command.CALL, seed))
            for out in reference.page.outputs[: reference.page.output_count]:
                self.assertEqual(submission.bytes_of(out), reference.bytes_of(out))

    def built(self, source: str, spec: object) -> dict[str, bytes]:
        build = self.child(
            {"problem.py": RELU, "k.cu": source, "k.json": json.dumps(spec)}, role="build", backend="cuda", entry="k.cu"
        )
        self.assertEqual(self.zygote.exit_of(build.id), 0, build.log(1))
        self.assertEqual((build.dir / "out/status").read_text(), "ok\n", (build.dir / "out/message").read_text())
        return {name: (build.dir / "out" / name).read_bytes() for name in ("module.cubin", "launch")}

    def cuda_pair(self, source: str, spec: object) -> tuple[Child, Child]:
        made = self.built(source, spec)
        return self.pair(
            RELU, "", backend="cuda", entry="k.cu", more={"k.cu": source, "k.json": json.dumps(spec), **made}
        )

    def test_layers(self) -> None:
        print("layers:", self.zygote.hello["sandbox"])

    def test_a_reference_under_torch_compile(self) -> None:
        """Inductor compiles its kernels and their launchers inside the sandbox, once for all loads."""
        problem = RELU.replace("torch.relu(x)", "torch.relu(x) * 2 + 1")
        reference, _ = self.pair(problem, "", scratch_bytes=1 << 30)
        seconds = []
        for seed in (8, 9):
            self.assert_ok(reference.do(Command.LOAD, seed))
            reference.layout()
            begun = time.monotonic()
            self.assert_ok(reference.do(Command.COMPILE, seed, 250))
            seconds.append(time.monotonic() - begun)
            self.assert_ok(reference.do(Command.MAKE_INPUTS, seed))
            self.assert_ok(reference.do(Command.CALL, seed))
            out = reference.page.outputs[0]
            expected = reference.bytes_of(out)
            reference.put(out, bytes(out.bytes))
            self.assert_ok(reference.do(Command.CALL_COMPILED, seed))
            self.assertEqual(reference.bytes_of(out), expected)
        print("torch.compile:", *(f"{s:.2f} s" for s in seconds))
        self.assertLess(seconds[1], seconds[0], "the second load uses what the first has compiled")

    def test_torch(self) -> None:
        for problem, new in ((RELU, RELU_NEW), (LINEAR, LINEAR.replace("class Model", "class ModelNew"))):
            reference, submission = self.pair(problem, new)
            self.assert_ok(submission.do(Command.LOAD, 7))
            self.compare(reference, submission)

    def test_half_precisions(self) -> None:
        for precision in ("fp16", "bf16"):
            reference, submission = self.pair(RELU, RELU_NEW, precision=precision)
            self.assert_ok(submission.do(Command.LOAD, 7))
            self.compare(reference, submission)

    def test_triton(self) -> None:
        reference, submission = self.pair(RELU, TRITON, backend="triton")
        self.assert_ok(submission.do(Command.LOAD, 7))
        self.compare(reference, submission)

    def test_an_autotuned_kernel(self) -> None:
        reference, submission = self.pair(RELU, AUTOTUNED, backend="triton")
        self.assert_ok(submission.do(Command.LOAD, 7))
        self.compare(reference, submission)

    def place_of_output(self, new: str, backend: str = "torch") -> Place:
        """Returns the place of the output of a second call. Calls allocate in an arena."""
        submission = self.child({"problem.py": RELU, "new.py": new}, backend=backend, scratch_bytes=1 << 30)
        submission.share_window(64 << 20)
        submission.page.arena_bytes = 32 << 20
        submission.copy_tables(self.tables_of_relu())
        self.assert_ok(submission.do(Command.ATTACH))
        self.assert_ok(submission.do(Command.LOAD, 7))
        for seed in (1, 2):
            submission.copy_tables(self.tables_of_relu())
            self.assert_ok(submission.do(Command.STAGE, seed))
            self.assert_ok(submission.do(Command.CALL, seed, 250))
        return Place(submission.page.outputs[0].place)

    def test_an_output_stays_where_its_call_made_it(self) -> None:
        """The output stays for every backend, because a copy would be part of the call's time."""
        compiled = (
            "self.f = self.f if hasattr(self, 'f') else torch.compile(lambda x: torch.relu(x) * 1)\n"
            "        return self.f(x)"
        )
        for words, new, backend in (
            ("torch", RELU_NEW, "torch"),
            (
                "several steps",
                RELU_NEW.replace(
                    "torch.relu(x)", "(torch.relu(x) @ torch.eye(8, device=x.device)).view(-1).view(4, 8)"
                ),
                "torch",
            ),
            ("inductor", RELU_NEW.replace("return torch.relu(x)", compiled), "torch"),
            ("triton", TRITON, "triton"),
            ("autotuned", AUTOTUNED, "triton"),
        ):
            with self.subTest(words):
                self.assertEqual(self.place_of_output(new, backend), Place.ARENA)

    def test_an_output_that_the_model_keeps_is_brought(self) -> None:
        again = "torch.clamp(x, min=0, out=vars(self).setdefault('y', torch.empty_like(x)))"
        for words, output in (
            ("again", again),
            ("a part", "vars(self).setdefault('y', torch.zeros(9, 8, device=x.device))[:4]"),
            ("the input", "x"),
        ):
            with self.subTest(words):
                self.assertEqual(self.place_of_output(RELU_NEW.replace("torch.relu(x)", output)), Place.WINDOW)

    def test_a_triton_kernel_that_was_compiled_ahead(self) -> None:
        count = "len([path for path in pathlib.Path(os.environ['TRITON_CACHE_DIR']).rglob('*') if path.is_file()])"
        source = TRITON.replace(
            "import torch, triton\n", f"import os, pathlib, torch, triton\nBEFORE = {count}\n"
        ).replace(
            "        return out", f"        print('new files:', {count} - BEFORE, flush=True)\n        return out"
        )
        record = self.child({"problem.py": RELU, "new.py": source}, role="record", backend="triton")
        self.assertEqual(self.zygote.exit_of(record.id), 0, record.log(1))
        archive: dict[str, str | bytes] = {"kq_triton.zip": (record.dir / "out/kq_triton.zip").read_bytes()}
        for words, more, is_new in (("in the job", {}, True), ("ahead", archive, False)):
            reference, submission = self.pair(RELU, source, more, backend="triton")
            begun = time.monotonic()
            self.assert_ok(submission.do(Command.LOAD, 7))
            loaded = time.monotonic()
            self.assert_ok(submission.do(Command.CALL, 1))
            print(
                f"compiled {words}: load {(loaded - begun) * 1000:.0f} ms, first call "
                f"{(time.monotonic() - loaded) * 1000:.0f} ms"
            )
            self.compare(reference, submission)
            new = [line for line in submission.log(0.5).splitlines() if line.startswith("new files:")]
            self.assertEqual(set(new) != {"new files: 0"}, is_new, new)

    def test_cuda(self) -> None:
        reference, submission = self.cuda_pair(RELU_CU, RELU_JSON)
        self.assert_ok(submission.do(Command.LOAD, 7))
        self.compare(reference, submission)

    def test_a_cuda_child_runs_no_python(self) -> None:
        _, submission = self.cuda_pair(RELU_CU, RELU_JSON)
        supervised = Path(f"/proc/{submission.pid}/task/{submission.pid}/children").read_text().split()
        self.assertEqual([Path(f"/proc/{pid}/comm").read_text().strip() for pid in supervised], ["kq-launcher"])

    def test_a_cuda_kernel_that_does_not_fit_the_problem(self) -> None:
        args = [*RELU_JSON["args"], {"name": "y", "type": "tensor"}]
        _, submission = self.cuda_pair(RELU_CU.replace("int n)", "int n, const float* y)"), {**RELU_JSON, "args": args})
        words = "argument y is neither a parameter of forward() (x) nor a state of the reference (it has none)"
        self.assert_failed(submission.do(Command.LOAD, 7), Failure.LOAD_FAILED, words)

    def test_a_launch_that_cannot_be(self) -> None:
        launch = {"launch": {"grid": {"x": 1}, "block": {"x": 100_000}}}
        _, submission = self.cuda_pair(RELU_CU, {**RELU_JSON, **launch})
        self.assert_ok(submission.do(Command.LOAD, 7))
        self.assert_failed(submission.do(Command.CALL), Failure.RUNTIME_ERROR, "launching")

    def test_a_cuda_kernel_of_numbers_and_a_changed_input(self) -> None:
        source = RELU_CU.replace(
            "const float* x, float* out, int n", "float* x, float limit, bool on, long long n"
        ).replace("out[i] = x[i] > 0 ? x[i] : 0", "x[i] = on && x[i] > limit ? x[i] : 0")
        args = [
            {"name": "x", "type": "tensor", "role": "inout"},
            {"name": "limit", "type": "float", "value": 0},
            {"name": "on", "type": "bool", "value": True},
            {"name": "n", "type": "int", "value": 32},
        ]
        reference, submission = self.cuda_pair(source, {**RELU_JSON, "args": args})
        self.assert_ok(submission.do(Command.LOAD, 7))
        self.compare(reference, submission)

    def test_cuda_with_much_shared_memory(self) -> None:
        source = RELU_CU.replace("int i =", "extern __shared__ char room[]; room[100000] = 1; int i =")
        reference, submission = self.cuda_pair(
            source, {**RELU_JSON, "launch": {**RELU_JSON["launch"], "shared_mem_bytes": 102400}}
        )
        self.assert_ok(submission.do(Command.LOAD, 7))
        self.compare(reference, submission)

    def test_an_illegal_address_is_a_gpu_fault(self) -> None:
        _, submission = self.cuda_pair(RELU_CU.replace("out[i] =", "out[i + (1ll << 40)] ="), RELU_JSON)
        self.assert_ok(submission.do(Command.LOAD, 7))
        self.assert_failed(submission.do(Command.CALL), Failure.GPU_FAULT, "illegal memory access")

    def test_gpu_memory_runs_out(self) -> None:
        _, submission = self.pair(RELU, RELU_NEW.replace("torch.relu(x)", "torch.empty(1 << 40, device='cuda')"))
        self.assert_ok(submission.do(Command.LOAD, 7))
        self.assert_failed(submission.do(Command.CALL), Failure.OUT_OF_GPU_MEMORY, "out of memory")

    def test_an_endless_kernel_is_killed(self) -> None:
        _, submission = self.cuda_pair(RELU_CU.replace("int i =", "while (clock64() != -1) {} int i ="), RELU_JSON)
        self.assert_ok(submission.do(Command.LOAD, 7))
        submission.begin(Command.CALL)
        self.assertFalse(submission.is_done(0.5))
        begun = time.monotonic()
        self.assertEqual(submission.kill(), 9)
        print(f"killed and reaped after {(time.monotonic() - begun) * 1000:.0f} ms")

    def test_times(self) -> None:
        begun = time.monotonic()
        child = self.child({"problem.py": RELU, "new.py": RELU_NEW})
        forked = time.monotonic()
        child.share_window()
        shared = time.monotonic()
        self.assert_ok(child.do(Command.ATTACH))
        print(
            f"order to child {(forked - begun) * 1000:.0f} ms, its context and window "
            f"{(time.monotonic() - shared) * 1000:.0f} ms"
        )
        child.page.spin_ns = 1_000_000_000
        rounds = sorted(self.null_call(child) for _ in range(50))
        print(f"null call {rounds[25] * 1e6:.0f} us (median of 50, a judge in Python)")

    def null_call(self, child: Child) -> float:
        begun = time.perf_counter()
        child.begin(Command.NULL_CALL)
        while child.page.done != child.page.go:
            pass
        return time.perf_counter() - begun


if __name__ == "__main__":
    unittest.main()
