"""Tests kq-check with real files: findings, output formats and exit codes. It needs no GPU, no broker and no torch."""

import json
import re
import subprocess
import unittest
from urllib.parse import unquote, urlparse

import kq

STREAM = "import torch\n\nS = getattr(torch.cuda, 'Str' + 'eam')\nS()\n"
GRAPH = "void f() {\n  cudaGraphLaunch(g, s);\n}\n"
REVIEW = "import os\nos.fork()\n"
DOCUMENT_ROW = re.compile(r"^\| `(\w+)` \| (reject|review) \| (\w+) \| (.*) \|$", re.M)


def check(*words: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [kq.BIN / "kq-check", *map(str, words)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        env=kq.environment(),
    )


class Check(kq.EndToEndTest):
    def setUp(self) -> None:
        super().setUp()
        (self.folder / "sub").mkdir()
        for name, text in {
            "clean.py": kq.RIGHT,
            "stream.py": STREAM,
            "sub/graph.cu": GRAPH,
            "review.py": REVIEW,
        }.items():
            (self.folder / name).write_text(text)

    def test_the_exit_code_tells_rejected_from_unreadable_sources(self) -> None:
        (self.folder / "broken.py").write_text("x = (\n")
        for words, code in (
            (["clean.py"], 0),
            (["review.py"], 0),
            (["stream.py"], 1),
            (["clean.py", "stream.py"], 1),
            (["sub"], 1),
            (["broken.py"], 2),
            (["broken.py", "stream.py"], 2),
            (["gone.py"], 2),
        ):
            with self.subTest(words):
                self.assertEqual(check(*(self.folder / word for word in words)).returncode, code)
        self.assertEqual(check().returncode, 2)
        self.assertEqual(check("--format", "xml", self.folder).returncode, 2)

    def test_each_finding_is_one_line(self) -> None:
        done = check(self.folder)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 3, done.stdout)
        self.assertTrue(lines[0].startswith(f"{self.folder}/review.py:2 process review: "), lines[0])
        self.assertTrue(
            lines[1].startswith(f"{self.folder}/stream.py:4 cuda_stream_create creates a CUDA stream: "), lines[1]
        )
        self.assertTrue(lines[2].startswith(f"{self.folder}/sub/graph.cu:2 cuda_graph "), lines[2])
        self.assertEqual(done.stderr, "")

    def test_standard_input_is_checked_with_a_language(self) -> None:
        done = check("-", "--language", "python", stdin=STREAM)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("<stdin>:4 cuda_stream_create"), done.stdout)
        self.assertEqual(check("-", stdin=STREAM).returncode, 2)

    def test_an_input_that_cannot_be_checked_is_an_error_on_standard_error(self) -> None:
        (self.folder / "notes.txt").write_text("hello")
        done = check(self.folder / "notes.txt")
        self.assertEqual(done.returncode, 2)
        self.assertIn("notes.txt:1 has a name of neither Python", done.stderr)

    def test_json_has_every_finding(self) -> None:
        told = json.loads(check("--format", "json", self.folder).stdout)
        self.assertEqual(told["files"], 4)
        self.assertEqual(
            [(one["line"], one["rule"], one["severity"], one["reason"]) for one in told["findings"]],
            [
                (2, "process", "review", "policy"),
                (4, "cuda_stream_create", "reject", "stream"),
                (2, "cuda_graph", "reject", "stream"),
            ],
        )

    def test_sarif_has_rules_and_places(self) -> None:
        odd = self.folder / "a b&ü.py"
        odd.write_text(STREAM)
        told = json.loads(check("--format", "sarif", odd, self.folder / "sub").stdout)
        self.assertEqual(told["version"], "2.1.0")
        (run,) = told["runs"]
        rules = run["tool"]["driver"]["rules"]
        self.assertEqual(len({rule["id"] for rule in rules}), len(rules))
        for rule in rules:
            self.assertIn(rule["defaultConfiguration"]["level"], ("error", "note"))
            for text in ("shortDescription", "fullDescription", "help"):
                self.assertTrue(rule[text]["text"])
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]]["id"], result["ruleId"])
            self.assertTrue(result["message"]["text"])
        places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
        self.assertEqual([place["region"]["startLine"] for place in places], [4, 2])
        self.assertEqual(unquote(urlparse(places[0]["artifactLocation"]["uri"]).path), str(odd))
        self.assertTrue(run["invocations"][0]["executionSuccessful"])

    def test_explain_describes_a_rule_or_suggests_one(self) -> None:
        self.assertIn("rejected (stream)", check("--explain", "cuda_graph").stdout)
        done = check("--explain", "cuda_graf")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean cuda_graph?", done.stderr)

    def test_the_document_lists_the_rules_of_the_program(self) -> None:
        rules = json.loads(check("--rules", "--format", "json").stdout)
        wanted = [(rule["rule"], rule["severity"], rule["reason"], rule["message"]) for rule in rules]
        self.assertEqual(DOCUMENT_ROW.findall((kq.ROOT / "docs/user/guard.md").read_text()), wanted)

    def test_only_the_examples_that_must_be_rejected_are_rejected(self) -> None:
        """No example that must pass is rejected, and every example with a side stream is found."""
        done = check("--format", "json", kq.ROOT / "examples")
        rejected = {one["file"] for one in json.loads(done.stdout)["findings"] if one["severity"] == "reject"}
        for line in (kq.ROOT / "examples/sweep/expected.csv").read_text().splitlines()[1:]:
            job, _, verdict, *_ = line.split(",")
            named = [file for file in rejected if f"/{job}." in file]
            self.assertEqual(bool(named), verdict == "rejected", line)


if __name__ == "__main__":
    unittest.main()
