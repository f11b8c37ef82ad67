"""Tests which outputs pass by the truth and how wrong ones explain themselves, with a real broker and a real worker on
the CPU.
"""

import unittest

import kq

HEAD = "import torch\n\n\n"
MODEL = HEAD + "class Model(torch.nn.Module):\n"
NEW = HEAD + "class ModelNew(torch.nn.Module):\n"
FORWARD = "    def forward(self, {0}):\n        return {1}\n"
INPUTS = "\n\ndef get_inputs():\n    return [{0}]\n\n\ndef get_init_inputs():\n    return []\n"


def model(arguments: str, result: str, inputs: str, head: str = MODEL, init: str = "") -> str:
    return head + init + FORWARD.format(arguments, result) + (INPUTS.format(inputs) if inputs else "")


def init(*lines: str) -> str:
    return (
        "    def __init__(self):\n        super().__init__()\n" + "".join(f"        {line}\n" for line in lines) + "\n"
    )


# A one-pass variance is itself far from the exact one.
ONE_PASS = model("x", "(x * x).mean(1) - x.mean(1) ** 2", "torch.randn(64, 4096) + 1000")
TWO_PASS = model("x", "x.double().var(1, unbiased=False).float()", "", NEW)
# A sum in another order is as near to the exact one as the reference's.
PRODUCT = model("a, b", "a @ b", "torch.randn(16, 65536), torch.randn(65536, 16)")
SPLIT = model("a, b", "sum(u @ v for u, v in zip(a.split(256, 1), b.split(256, 0)))", "", NEW)
IN_BF16 = model("a, b", "(a.bfloat16() @ b.bfloat16()).float()", "", NEW)
LINEAR = model("x", "self.fc(x)", "torch.randn(16, 32)", init=init("self.fc = torch.nn.Linear(32, 8)"))
OWN_WEIGHTS = model(
    "x",
    "torch.nn.functional.linear(x, self.weight)",
    "",
    NEW,
    init("self.weight = torch.nn.Parameter(torch.ones(8, 32))"),
)
INDICES = model("x", "x.argmax(1)", "torch.randn(64, 100)")
RELU = model("x", "torch.relu(x)", "torch.randn(64, 96)")


class Truth(kq.SubmitTest):
    def row(self, problem: str, kernel: str, *more: str) -> dict[str, str]:
        [row] = kq.dump(self.submit(problem, kernel, *more), "--broker", self.url)
        return row

    def assert_row(self, row: dict[str, str], **wanted: str) -> None:
        self.assertEqual({name: row[name] for name in wanted}, wanted, row["message"])

    def test_kernels_nearer_to_the_truth_than_their_reference_pass(self) -> None:
        row = self.row(ONE_PASS, TWO_PASS)
        self.assert_row(row, verdict="passed", passed_by="truth", truth_kind="float64 on the device")
        self.assertLess(float(row["truth_rms_err"]), float(row["reference_truth_rms_err"]))
        self.assert_row(self.row(PRODUCT, SPLIT), verdict="passed")
        strict = self.row(ONE_PASS, TWO_PASS, "--no-truth")
        self.assert_row(strict, verdict="wrong_answer", reason="value", truth_kind="", truth="false")

    def test_streams_and_graphs_pass_where_a_job_allows_them_and_have_boards_of_their_own(self) -> None:
        stream = model("x", "torch.cuda.Stream() if x.is_cuda else torch.relu(x)", "", NEW)
        graph = model("x", "torch.cuda.CUDAGraph() if x.is_cuda else torch.relu(x)", "", NEW)
        for kernel, options, wanted in (
            (stream, (), {"verdict": "rejected", "reason": "stream", "streams": "reject", "graphs": "reject"}),
            (stream, ("--streams", "joined"), {"verdict": "passed", "streams": "joined", "graphs": "reject"}),
            (graph, ("--streams", "joined"), {"verdict": "rejected", "rule": "cuda_graph"}),
            (graph, ("--graphs", "allow"), {"verdict": "passed", "streams": "reject", "graphs": "allow"}),
            (stream, ("--graphs", "allow"), {"verdict": "passed", "own_share": "", "decoy": "", "kernels": ""}),
        ):
            with self.subTest(options=options):
                self.assert_row(self.row(RELU, kernel, *options), **wanted)
        board = kq.kq("leaderboard", KQ_BROKER=self.url).stdout
        self.assertIn("torch (streams joined)", board)
        self.assertIn("torch (graphs allow)", board)

    def test_findings_for_review_are_a_column_and_a_board_may_ask_for_none(self) -> None:
        kernel = "import os\n\nos.putenv('LEVEL', '3')\n" + model("x", "torch.relu(x)", "", NEW)
        run = self.submit(RELU, kernel)
        [row] = kq.dump(run, "--broker", self.url)
        self.assert_row(row, verdict="passed", findings="environment at kernel.py:3")
        board = kq.kq("leaderboard", "--run", run, KQ_BROKER=self.url)
        self.assertIn("torch (findings)", board.stdout)
        none = kq.kq("leaderboard", "--run", run, "--no-findings", KQ_BROKER=self.url)
        self.assertEqual((none.returncode, none.stdout), (0, "no job has passed without findings yet\n"))
        self.assertIn("left out 1 passed job with findings of the guard", none.stderr)
        [quiet] = kq.dump(self.submit(RELU, model("x", "torch.relu(x)", "", NEW)), "--broker", self.url)
        self.assert_row(quiet, verdict="passed", findings="")
        refused = kq.kq("leaderboard", "--no-findings", KQ_BROKER=self.url)
        self.assertEqual(refused.returncode, 2, refused.stderr)

    def test_a_lower_precision_is_wrong_unless_it_is_allowed(self) -> None:
        row = self.row(PRODUCT, IN_BF16)
        self.assert_row(row, verdict="wrong_answer", precision_like="bfloat16", rtol="1e-04", atol="1e-04")
        self.assertIn("as bfloat16 has", row["message"])
        self.assertRegex(row["message"], r"the worst is at \[\d+, \d+\]: expected .* where .* is allowed")
        allowed = self.row(PRODUCT, IN_BF16, "--allow-precision", "bf16")
        self.assert_row(allowed, verdict="passed", passed_by="truth", allow_precision="bf16")

    def test_a_wrong_answer_explains_itself(self) -> None:
        row = self.row(LINEAR, OWN_WEIGHTS)
        self.assert_row(row, verdict="wrong_answer")
        self.assertEqual(
            row["unmatched_weights"],
            "the reference has fc.weight [8, 32], fc.bias [8]; the submission has weight [8, 32]",
        )
        self.assertIn("fc.weight", row["hint"])
        row = self.row(INDICES, model("x", "x.argmax(1).to(torch.int32)", "", NEW))
        self.assert_row(
            row, verdict="wrong_answer", reason="dtype", looks_like="cast", expected_form="int64[64]",
            got_form="int32[64]", mismatch_n="",
        )  # fmt: skip
        row = self.row(RELU, model("x", "torch.relu(x).index_fill(1, torch.tensor([95]), float('nan'))", "", NEW))
        self.assert_row(row, verdict="wrong_answer", reason="nan", not_finite_count="64", looks_like="tail")
        row = self.row(RELU, model("x", "torch.zeros_like(x)", "", NEW))
        self.assert_row(row, verdict="wrong_answer", looks_like="zeros")


if __name__ == "__main__":
    unittest.main()
