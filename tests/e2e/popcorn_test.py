"""Runs kq-gateway as popcorn-cli's users see it, with a real broker and a real worker on the CPU, and the commands of
docs/user/popcorn.md. The problems are those of examples/popcorn.
"""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import http_client
import kq
from popcorn_client import PopcornClient, Refused
from ports import free_port

SET = kq.ROOT / "examples/popcorn"
PAGE = kq.ROOT / "docs/user/popcorn.md"
RIGHT = (SET / "vector_add/submission.py").read_text()
WRONG = RIGHT.replace("torch.add(a, b, out=out)", "torch.sub(a, b, out=out)")
STREAM = RIGHT.replace("    return torch", "    stream = torch.cuda.Stream()\n    return torch")
# The word alone is no fault: no rule looks for it.
WORD = RIGHT.replace("    return torch", "    # on the current stream\n    return torch")


class Popcorn(kq.SharedWorkerTest):
    def setUp(self) -> None:
        super().setUp()
        self.port = free_port()
        listen = ("--listen", f"127.0.0.1:{self.port}")
        self.running = [
            self.broker(),
            kq.program("kq-gateway", "--broker", self.url, *listen, "--popcorn", SET),
        ]
        for one in self.running:
            one.__enter__()
        self.client = PopcornClient(f"http://127.0.0.1:{self.port}")
        self.client.register()
        kq.wait_until(lambda: self.client.json("GET", "/gpus/vector_add"), "the worker is connected")

    def tearDown(self) -> None:
        for one in reversed(self.running):
            one.__exit__(None, None, None)
        super().tearDown()

    def file(self, text: str, name: str = "kernel.py") -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def submit(self, text: str, mode: str) -> dict[str, Any]:
        return self.client.submit(self.file(text), "vector_add", "CPU", mode)

    def refusal(
        self, text: str, mode: str, board: str = "vector_add", gpu: str = "CPU", name: str = "kernel.py"
    ) -> str:
        with self.assertRaises(Refused) as refused:
            self.client.submit(self.file(text, name), board, gpu, mode)
        return str(refused.exception)

    def test_boards_and_devices(self) -> None:
        [board] = self.client.json("GET", "/leaderboards")
        self.assertEqual((board["name"], board["gpu_types"]), ("vector_add", ["CPU"]))
        self.assertEqual([case["size"] for case in board["task"]["tests"]], [127, 4096])
        self.assertNotIn("secret_seed", board)

    def test_every_mode_and_the_list(self) -> None:
        tested = self.submit(WORD, "test")
        self.assertEqual([(run["mode"], run["passed"]) for run in tested["runs"]], [("test", True)])
        ranked = self.submit(RIGHT, "leaderboard")
        shown = [(run["mode"], run["passed"], run["secret"], run["runner"]) for run in ranked["runs"]]
        self.assertEqual(shown, [(mode, True, False, "CPU") for mode in ("test", "benchmark", "leaderboard")])
        score = ranked["runs"][-1]["score"]
        self.assertGreater(score, 0)
        timed = self.submit(RIGHT, "benchmark")
        self.assertEqual([run["mode"] for run in timed["runs"]], ["benchmark"])
        self.assertIsNone(timed["runs"][0]["score"])

        listed = self.client.json("GET", "/user/submissions?leaderboard=VECTOR_ADD&limit=50")
        self.assertEqual([one["id"] for one in listed], [timed["id"], ranked["id"], tested["id"]])
        self.assertEqual(listed[1]["runs"], [{"gpu_type": "CPU", "score": score}])
        self.assertEqual((listed[0]["file_name"], listed[0]["done"]), ("kernel.py", True))
        other = PopcornClient(self.client.url, "someone-else")
        self.assertEqual(other.json("GET", "/user/submissions"), [])
        with self.assertRaisesRegex(Refused, "404"):
            other.json("GET", f"/user/submissions/{ranked['id']}")
        # A leaderboard run ranks on kq's board, by the time that is the score; the others run a part of the problem.
        run = next(one["run"] for one in http_client.Client(self.port).get("/api/v1/runs").json["runs"])
        rows = kq.dump(run, "--broker", self.url, "--level", "case")
        weights = {(row["case_id"], float(row["case_weight"])) for row in rows}
        self.assertIn(("test.0 (size: 127)", 0.0), weights)
        self.assertIn(("benchmark.1 (size: 65536)", 1.0), weights)
        board = http_client.Client(self.port).get("/api/v1/boards/popcorn%2Fvector_add").json
        self.assertAlmostEqual(board["rows"][0]["median_ns"] / 1e9 / score, 1, places=6)

    def test_events(self) -> None:
        events = list(self.client.events(self.file(RIGHT), "vector_add", "CPU", "leaderboard"))
        self.assertEqual(events[0][0], "status")
        name, result = events[-1]
        self.assertEqual((name, result["status"]), ("result", "success"), result)
        [report] = result["reports"]
        self.assertIn("✅ Leaderboard run successful", report)
        self.assertEqual(report.count("⏱"), 4)
        runs = result["results"][0]["runs"]
        self.assertEqual(runs["test"]["run"]["result"]["test-count"], "2")
        self.assertEqual(runs["leaderboard"]["run"]["result"]["benchmark.1.spec"], "size: 65536")
        profile = list(self.client.events(self.file(RIGHT), "vector_add", "CPU", "profile"))[-1][1]
        text = profile["results"][0]["runs"]["profile.0"]["run"]["result"]
        self.assertEqual(text["benchmark-count"], 1)
        name, error = list(self.client.events(self.file(STREAM), "vector_add", "CPU", "test"))[-1]
        self.assertEqual((name, error["status_code"]), ("error", 400))
        self.assertIn("cuda_stream_create", error["detail"])

    def test_what_fails_says_why(self) -> None:
        self.assertRegex(
            self.refusal(WRONG, "leaderboard"),
            r"^Submission \d+ failed: wrong answer: workload test[.]0 \(size: 127\): check\(\) of the problem says .*"
            "the largest difference is",
        )
        line = STREAM[: STREAM.index("torch.cuda.Stream")].count("\n") + 1
        self.assertRegex(
            self.refusal(STREAM, "test"),
            rf"^Submission \d+ hacked: rejected by the rule cuda_stream_create: .*\(submission[.]py:{line}\)",
        )
        self.assertIn("failed: load failed", self.refusal("x = 1\n", "test"))
        self.assertIn("status 404: there is no leaderboard none", self.refusal(RIGHT, "test", board="none"))
        self.assertIn("no connected worker has a GPU B200; there are CPU", self.refusal(RIGHT, "test", gpu="B200"))
        self.assertIn("must be a Python file", self.refusal(RIGHT, "test", name="kernel.cu"))
        self.assertIn("status 413", self.refusal("#" * 1_300_000, "test"))

    def test_tokens_are_ids_of_clients(self) -> None:
        token = "kq_" + "5" * 64
        line = subprocess.run(
            ["sh", "-c", f"printf {token} | sha256sum | cut -c 1-64"], capture_output=True, text=True, check=True
        ).stdout.strip()
        tokens = self.folder / "tokens"
        tokens.write_text(f"{line} ada 0\n")
        port = free_port()
        words = ("--broker", self.url, "--listen", f"127.0.0.1:{port}", "--popcorn", SET, "--tokens", tokens)
        with kq.program("kq-gateway", *words):
            client = PopcornClient(f"http://127.0.0.1:{port}", "unknown")
            with self.assertRaisesRegex(Refused, "403: this gateway needs a token: write .cli_id: TOKEN"):
                PopcornClient(client.url).register()
            with self.assertRaisesRegex(Refused, "401: this gateway needs a token"):
                client.json("GET", "/user/submissions")
            client.cli_id = token
            done = client.submit(self.file(RIGHT), "vector_add", "CPU", "test")
            self.assertEqual(done["user_id"], "ada")


class Page(kq.EndToEndTest):
    def test_its_commands_work(self) -> None:
        [commands] = re.findall(r"```bash\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
        commands = commands.replace("8000", str(free_port()))
        commands = commands.replace("--state state", f"--state {self.state}")
        tool = self.folder / "popcorn-cli"
        tool.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).parent / "popcorn_client.py"} "$@"\n')
        tool.chmod(0o755)
        path = f"{self.folder}:{kq.BIN}:{os.environ['PATH']}"
        env = kq.environment(PATH=path, HOME=str(self.folder), KQ_BROKER=f"ipc://{self.folder}/b")
        command = ["bash", "-euc", commands]
        done = subprocess.run(command, cwd=kq.ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)
        self.assert_end(done, 0)
        self.assertIn("Geomean score (public) on CPU: ", done.stdout)
        self.assertRegex(done.stdout, r"\d{16} vector_add submission.py True \d")


if __name__ == "__main__":
    unittest.main()
