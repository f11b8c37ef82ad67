"""Runs every command of docs/user/reports.md against two small sweeps, and looks at what the commands wrote."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import unittest

import browser  # noqa: F401 - the path to tests/e2e comes with it
import kq
import runs

PAGE = kq.ROOT / "docs/user/reports.md"


def plot_python() -> str | None:
    """Returns a Python that draws: the tests' own may be a shared process that runs nothing but the harness."""
    for python in (str(kq.ROOT / ".venv/bin/python"), sys.executable, "python3"):
        found = shutil.which(python)
        if found and subprocess.run([found, "-I", "-c", "import vl_convert"], capture_output=True).returncode == 0:
            return found
    return None


class ReportsPage(kq.EndToEndTest):
    def commands(self) -> list[list[str]]:
        blocks = re.findall(r"```text\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
        return [shlex.split(line) for block in blocks for line in block.splitlines()]

    def run_command(self, words: list[str], code: int = 0, **changes: str) -> str:
        done = subprocess.run(
            [str(kq.BIN / words[0]), *words[1:]],
            cwd=self.folder,
            env=kq.environment(**changes),
            capture_output=True,
            text=True,
            timeout=kq.LIMIT_S,
        )
        self.assert_end(done, code)
        return done.stdout

    def test_every_command_does_what_the_page_says(self) -> None:
        commands = self.commands()
        for words, name, kernels in zip(commands[:2], ("a", "b"), (runs.FIRST, runs.SECOND), strict=True):
            small = runs.write(self.folder / name, kernels)
            self.run_command([str(small) if word == "examples/sweep" else word for word in words])
        python = plot_python()
        for command in commands[2:]:
            words = ["relu" if word == "softmax" else word for word in command]
            is_drawn = words[1] == "plot" and not words[-1].endswith(".json")
            if is_drawn and python is None:
                print("no Python here has vl-convert-python, so this is not run:", shlex.join(words))
                continue
            with self.subTest(command=shlex.join(words)):
                changes = {"KQ_PYTHON": python} if is_drawn and python else {}
                # Each of these finds a kernel that did not pass or became slower.
                has_failures = words[1] == "results" or "--fail-on-regression" in words
                text = self.run_command(words, code=1 if has_failures else 0, **changes)
                if "markdown" in words:
                    self.assertIn("### Run monday", text)
                    self.assertNotIn("<script>", text)
        written = ["monday.html", "site/monday/index.html", "times.json", "compared.html", "compared.json"]
        written += ["site/index.html", "site/boards.json", "site/feed.xml"]
        written += ["fast-p.svg", "softmax.png"] if python else []
        for name in written:
            self.assertGreater((self.folder / name).stat().st_size, 500, name)
        json.loads((self.folder / "times.json").read_text())
        if python:
            self.assertIn("<svg", (self.folder / "fast-p.svg").read_text())
            self.assertEqual((self.folder / "softmax.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_mistakes_are_one_sentence(self) -> None:
        store = str(runs.generated(self.folder, 10))
        mistakes = {
            ("report", "nosuch", "--store", store): (5, "there is no run 'nosuch'"),
            ("plot", "bench", "pie", "--store", store, "-o", "x.svg"): (2, "known are verdicts, fast-p"),
            ("plot", "bench", "times", "--store", store, "-o", "x.txt"): (2, "must end in .svg, .png or .json"),
            ("plot", "bench", "--store", store): (2, "a kind of plot is required beside the run: verdicts"),
            ("compare", "bench", "--store", store): (2, "name at least two runs"),
            ("compare", "bench", "bench", "--alpha", "x", "--store", store): (
                2,
                "--alpha must be a number from 0 to 1",
            ),
            ("leaderboard", "--base-url", "x", "--store", store): (2, "go with --html DIR"),
            ("leaderboard", "--html", "x", "--users", "--run", "bench", "--store", store): (2, "does not go with"),
        }
        for words, (code, sentence) in mistakes.items():
            with self.subTest(words=words):
                done = kq.kq(*words)
                self.assert_end(done, code)
                self.assertIn(sentence, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
