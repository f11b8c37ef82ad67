"""Runs kq-gateway as the evaluation server's clients use it, with a real broker and a real worker on the CPU."""

import concurrent.futures
import http.client
import json
import unittest
from typing import Any

import kq
from evaluation_client import Contract, EvaluationClient, Json, kernel
from ports import free_port

DOUBLE = "class Model(torch.nn.Module):\n    def forward(self, x):\n        return x * 2"  # without imports
ADD_X = DOUBLE.replace("x * 2", "x + x")
BENCH = (
    "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n    def __init__(self):\n"
    "        super(Model, self).__init__()\n        self.linear = nn.Linear(8, 4)\n\n"
    "    def forward(self, x):\n        return torch.relu(self.linear(x))\n\n\n"
    "def get_inputs():\n    return [torch.randn(16, 8)]\n\n\ndef get_init_inputs():\n    return []\n"
)
BENCH_NEW = BENCH[: BENCH.index("def get_inputs")].replace("Model", "ModelNew")
TRITON = """
import triton
import triton.language as tl

@triton.jit
def scaled_add(x_ptr, y_ptr, BLOCK: tl.constexpr, out_ptr, n, alpha):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + alpha * y, mask=mask)
"""
CUDA = "__global__ void twice(const float* x, float* out, int n) { int i = threadIdx.x; if (i < n) out[i] = 2 * x[i]; }"

# A function that raises unless every tensor is as its init says; the random tensor comes first.
KINDS = """
import torch

def check(x, zeros, ones, full, places, low, flags, data):
    assert zeros.dtype == torch.float16 and zeros.eq(0).all()
    assert ones.dtype == torch.bool and ones.all()
    assert full.dtype == torch.int64 and full.eq(9007199254740993).all()
    assert places.tolist() == [[1.0, 1.5, 2.0]] * 2
    assert low.dtype == torch.int32 and 3 <= low.min() and low.max() <= 5
    assert flags.dtype == torch.bool
    assert data.tolist() == [1.0, -2.5, 3.0]
    return x + 1
"""


def with_x(*shape: int) -> Contract:
    return Contract().tensor("x", shape or (64,), kind="randn", seed=42)


def triton_contract(role: str = "output") -> Contract:
    """A meta argument before the output, and all arguments named otherwise than the kernel's parameters."""
    made = Contract().tensor("a", (64,), kind="randn", seed=1).tensor("b", (64,), kind="randn", seed=2)
    made.scalar("BLOCK", "int", 64, is_meta=True).tensor("c", (64,), role=role)
    return made.scalar("count", "int", 64).scalar("factor", "float", 3.0).grid(1, num_warps=2)


class EvaluationServer(kq.SharedWorkerTest):
    def setUp(self) -> None:
        super().setUp()
        port = free_port()
        self.running = [self.broker(), self.gateway(port)]
        for one in self.running:
            one.__enter__()
        self.client = EvaluationClient("127.0.0.1", port)

    def tearDown(self) -> None:
        for one in reversed(self.running):
            one.__exit__(None, None, None)
        super().tearDown()

    def gateway(self, port: int) -> kq.Program:
        return kq.program("kq-gateway", "--broker", self.url, "--listen", f"127.0.0.1:{port}")

    def assert_right(self, body: Json) -> Json:
        self.assertEqual(body.get("status"), "success", body)
        executed: Json = body["kernel_exec_result"]
        self.assertTrue(executed["compiled"] and executed["correctness"], executed)
        self.assertGreater(executed["runtime"], 0)
        names = {"mean", "std", "min", "max", "median", "percentile_95", "percentile_99"}
        self.assertEqual(set(executed["runtime_stats"]), names)
        self.assertEqual(executed["trials"], len(executed["runtime_samples"]))
        return executed

    def assert_failed(self, body: Json, compiled: bool, *words: str) -> None:
        self.assertEqual(body.get("status"), "success", body)
        executed = body["kernel_exec_result"]
        self.assertEqual((executed["compiled"], executed["correctness"]), (compiled, False), executed)
        self.assertEqual(executed["runtime"], 0.0)
        text = executed["validation_error" if compiled else "compilation_error"]
        for word in words:
            self.assertIn(word, text)

    def test_single_kernels(self) -> None:
        answer = self.client.evaluate(kernel(DOUBLE, "torch", with_x()))
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["Cache-Control"], "no-cache, no-store, must-revalidate")
        self.assertNotIn("ref_runtime", answer.body)
        executed = self.assert_right(answer.body)
        self.assertEqual(executed["trials"], 10)
        self.assertNotIn("compilation_error", executed)

        self.assert_right(self.client.evaluate(kernel(BENCH, "torch")).body)
        function = "def scaled(x, alpha=2.0):\n    return x * alpha\n\n\nclass Model:\n    pass\n"
        io = with_x().scalar("alpha", "float", 3.0)
        done = self.assert_right(self.client.evaluate(kernel(function, "torch", io, function_name="scaled")).body)
        self.assertEqual(done["metadata"]["kernel_name"], "scaled")
        described = with_x().tensor("y", (64,), role="output")  # the function takes no outputs
        plain = kernel("def twice(x):\n    return x * 2\n", "torch", described, function_name="twice")
        self.assert_right(self.client.evaluate(plain).body)
        method = "class Twice:\n    def run(self, x):\n        return x * 2\n"
        named = kernel(method, "torch", with_x(), class_name="Twice", method_name="run")
        self.assert_right(self.client.evaluate(named).body)
        several = "def helper(x):\n    return x + 1\n\n\ndef go(x):\n    return helper(x) * 2\n"
        self.assert_right(self.client.evaluate(kernel(several, "multi_kernel", with_x(), entry_point="go")).body)
        self.assert_right(self.client.evaluate(kernel(TRITON, "triton", triton_contract())).body)
        two = TRITON.replace("@triton.jit", "@triton.jit\ndef first(x_ptr):\n    tl.load(x_ptr)\n\n@triton.jit")
        named = kernel(two, "triton", triton_contract(), kernel_name="scaled_add")
        self.assert_right(self.client.evaluate(named).body)

    def test_comparisons(self) -> None:
        answer = self.client.compare(kernel(DOUBLE, "torch", with_x()), kernel(ADD_X, "torch", with_x()))
        executed = self.assert_right(answer.body)
        self.assertGreater(answer.body["ref_runtime"]["mean"], 0)
        self.assertGreater(executed["speedup"], 0)
        # A custom kernel without io gets the reference's inputs.
        self.assert_right(self.client.compare(kernel(DOUBLE, "torch", with_x()), kernel(ADD_X, "torch")).body)
        self.assert_right(self.client.compare(kernel(BENCH, "torch"), kernel(BENCH_NEW, "torch_cuda")).body)
        legacy = {"ref_code": BENCH, "custom_code": BENCH_NEW, "num_trials": 5}
        self.assert_right(self.client.ask("POST", "/", legacy).body)

        torch_add = "class Model(torch.nn.Module):\n    def forward(self, x, y):\n        return x + 3.0 * y"
        own = Contract().tensor("x", (64,), kind="ones").tensor("y", (64,), kind="full", fill_value=2.0)
        custom = kernel(TRITON, "triton", triton_contract())
        self.assert_right(self.client.compare(kernel(torch_add, "torch", own), custom).body)
        self.assert_right(self.client.compare(custom, custom, path="/").body)  # a triton kernel as the reference

    def test_kinds_dtypes_and_data(self) -> None:
        for compress in ("none", "zlib"):
            io = with_x(4)
            io.tensor("zeros", (3,), "float16", kind="zeros").tensor("ones", (3,), "bool", kind="ones")
            io.tensor("full", (2,), "int64", kind="full", fill_value=9007199254740993)
            io.tensor("places", (2, 3), kind="arange", start=1.0, step=0.5)
            io.tensor("low", (9,), "int32", kind="uniform", low=3, high=5).tensor("flags", (9,), "bool", kind="randn")
            io.data("data", [1.0, -2.5, 3.0], compress)
            self.assert_right(self.client.evaluate(kernel(KINDS, "torch", io, function_name="check")).body)

    def test_kernels_that_fail(self) -> None:
        reference = kernel(DOUBLE, "torch", with_x())

        def compared(source: str, kind: str = "torch") -> Json:
            return self.client.compare(reference, kernel(source, kind, with_x())).body

        self.assert_failed(compared(DOUBLE.replace("* 2", "* 3")), True, "differ")
        self.assert_failed(compared(DOUBLE.replace("x * 2", "x * (")), False, "kernel.py:3")
        self.assert_failed(compared(DOUBLE.replace("x * 2", "undefined(x)")), True, "undefined", "kernel.py:3")
        self.assert_failed(compared("import no_such_module\n" + DOUBLE), False, "no_such_module")
        stream = DOUBLE.replace("return x * 2", "torch.cuda.Stream()\n        return x * 2")
        body = compared(stream)
        self.assert_failed(body, False, "kernel.py:3")
        self.assertIn("kernel.py:3", body["kernel_exec_result"]["stream_violation"]["place"])
        broken = kernel(DOUBLE.replace("x * 2", "undefined(x)"), "torch", with_x())
        self.assert_failed(self.client.compare(broken, reference).body, True, "the reference", "reference.py:3")
        single = self.client.evaluate(broken).body
        self.assert_failed(single, False, "undefined")
        self.assertNotIn("the reference", single["kernel_exec_result"]["compilation_error"])

        io = Contract().tensor("x", (64,), kind="randn").tensor("out", (64,), role="output")
        io.scalar("n", "int", 64).grid(1, block={"x": 64})
        answer = self.client.evaluate(kernel(CUDA, "cuda", io))  # no fault of the kernel
        self.assertEqual(answer.status, 500)
        self.assertIn("running it needs a GPU", answer.body["error"])
        self.assertEqual(self.client.job(answer.body["job_id"]).body["status"], "failed")

    def test_requests_that_are_wrong(self) -> None:
        for body, field in (
            ("{", "body"),
            ({}, "kernel"),
            ({"kernel": kernel(DOUBLE, "torch")}, "kernel -> io"),  # as the first example of the original's manual
            ({"kernel": kernel(DOUBLE, "hip")}, "kernel -> kernel_type"),
            ({"kernel": kernel(DOUBLE, "torch") | {"color": 1}}, "kernel -> color"),
            ({"kernel": kernel(DOUBLE, "torch", Contract().tensor("x", (0,)))},
             "kernel -> io -> args -> 0 -> tensor_spec -> shape -> 0"),
        ):  # fmt: skip
            answer = self.client.ask("POST", "/evaluate", body)
            self.assertEqual((answer.status, answer.body["status"]), (400, "client_error"))
            [error] = answer.body["validation_errors"]
            self.assertEqual(error["field"], field)
        answer = self.client.evaluate(kernel(DOUBLE, "torch", with_x()), num_trials=0)
        self.assertEqual((answer.status, answer.body["details"]), (400, {"num_trials": 0}))
        answer = self.client.evaluate(kernel(TRITON, "triton"))
        self.assertEqual(answer.body["details"], {"kernel_type": "triton"})
        self.assertEqual(self.client.job("no-such-job").status, 404)
        self.assertEqual(self.client.job("no-such-job").body["status"], "error")

    def test_a_client_that_goes_away_loses_nothing(self) -> None:
        slow = DOUBLE.replace("return", "import time; time.sleep(0.05); return")
        body = {"kernel": kernel(slow, "torch", with_x()), "num_trials": 5}
        connection = http.client.HTTPConnection(self.client.host, self.client.port)
        connection.request("POST", "/evaluate", body=json.dumps(body))
        connection.close()
        kq.wait_until(lambda: self.client.ask("GET", "/health").body["job_stats"]["total_jobs"], "the job is there")
        accepted = self.client.ask("POST", "/evaluate?wait=0", body)
        self.assertEqual(accepted.status, 202)
        done = self.client.job(accepted.body["job_id"], wait=60)
        self.assertEqual(done.body["status"], "completed")
        self.assert_right(done.body["result"])
        self.assertEqual(self.client.ask("GET", "/health").body["job_stats"]["total_jobs"], 1)  # both were one job
        # A second gateway beside the broker knows the id.
        port = free_port()
        with self.gateway(port):
            other = EvaluationClient("127.0.0.1", port).job(accepted.body["job_id"])
        self.assertEqual(other.body, done.body)

    def test_a_job_that_takes_longer_than_its_timeout(self) -> None:
        endless = DOUBLE.replace("return", "import time; time.sleep(600); return")
        answer = self.client.compare(kernel(DOUBLE, "torch", with_x()), kernel(endless, "torch"), timeout=5)
        self.assertEqual((answer.status, answer.body["status"]), (500, "error"))
        self.assertIn("timed out after 5 seconds", answer.body["error"])
        job = self.client.job(answer.body["job_id"], wait=60)  # its worker does not hang
        self.assertEqual(job.body["status"], "failed")
        self.assertIn("timed out", job.body["error"])

    def test_cancellation(self) -> None:
        endless = DOUBLE.replace("return", "import time; time.sleep(60); return")
        accepted = self.client.ask("POST", "/evaluate?wait=0", {"kernel": kernel(endless, "torch", with_x())})
        job_id = accepted.body["job_id"]
        self.assertTrue(self.client.ask("DELETE", f"/job/{job_id}").body["cancelled"])
        job = self.client.job(job_id, wait=60)
        self.assertEqual(job.body["status"], "failed")
        self.assertIn("cancelled", job.body["error"])

    def test_a_batch(self) -> None:
        right = {"kernel": kernel(DOUBLE, "torch", with_x()), "num_trials": 5}
        wrong = {"ref_kernel": right["kernel"], "custom_kernel": kernel(DOUBLE.replace("2", "3"), "torch")}
        requests: list[Json] = [right | {"id": "a"}, {}, wrong | {"id": 7, "num_trials": 5}]
        lines = {line["index"]: line for line in self.client.batch(requests)}
        self.assertEqual({index: line["status_code"] for index, line in lines.items()}, {0: 200, 1: 400, 2: 200})
        self.assertEqual((lines[0]["id"], lines[2]["id"]), ("a", 7))
        self.assert_right(lines[0]["body"])
        self.assertFalse(lines[2]["body"]["kernel_exec_result"]["correctness"])

    def test_health_statistics_and_cleanup(self) -> None:
        def ask(index: int) -> Any:
            source = DOUBLE + f"  # {index % 3}"
            return self.client.evaluate(kernel(source, "torch", with_x()), num_trials=3).body

        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            for body in pool.map(ask, range(12)):
                self.assert_right(body)
        health = self.client.ask("GET", "/health").body
        self.assertEqual((health["status"], health["gpu_available"], health["gpu_count"]), ("healthy", False, 0))
        self.assertEqual(health["job_stats"]["by_status"], {"completed": 3})
        stats = self.client.ask("GET", "/stats").body
        groups = {"job_stats", "compilation_metrics", "profiling_metrics", "gpu_utilization", "throughput", "timestamp"}
        self.assertEqual(set(stats), groups)
        self.assertEqual(stats["profiling_metrics"]["correctness_passed"], 3)
        cleaned = self.client.ask("POST", "/admin/cleanup-jobs")
        self.assertEqual((cleaned.status, cleaned.body), (200, {"status": "cleanup_completed"}))


if __name__ == "__main__":
    unittest.main()
