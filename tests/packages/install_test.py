"""cmake --install makes a tree that works after it was moved: its programs find one another, the harness and the child
runtime relative to their own place."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["KQ_BIN"]).parent
LIMIT_S = 250


class Install(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kq-install.", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_ok(self, *words: str | Path) -> str:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def completed(self, tree: Path, typed: str) -> str:
        """Returns what bash offers after this text."""
        script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kq; echo "${COMPREPLY[*]}"'
        file = tree / "share/bash-completion/completions" / typed.split()[0]
        place = f"PATH={tree / 'bin'}:{os.environ['PATH']}"
        return self.run_ok("env", place, "bash", "-c", script, file, *typed.split()).strip()

    def check_other_shells(self, tree: Path) -> None:
        """Checks the completion of fish and zsh where they are installed, as on CI."""
        place = f"PATH={tree / 'bin'}:{os.environ['PATH']}"
        if fish := shutil.which("fish"):
            file = tree / "share/fish/vendor_completions.d/kq.fish"
            typed = ("kq-submit --ru", "kq su", "kq-dump r --format ")
            script = "; ".join([f"source {file}", *(f"complete -C '{words}'" for words in typed)])
            offered = self.run_ok("env", place, fish, "--no-config", "-c", script)
            self.assertIn("--run\tname of the run", offered)
            self.assertIn("submit\tsend kernels to a broker", offered)
            self.assertIn("\nflashinfer-trace\n", offered)
        if zsh := shutil.which("zsh"):
            # The functions of zsh's completion are replaced by ones that print what they are given.
            script = """
              compdef() { :; }; _describe() { print -rl -- ${(P)2}; }; _files() { print files; }
              source $1; words=(kq-submit --ru); CURRENT=2; _kq; words=(kq su); _kq
              words=(kq-dump r --format ''); CURRENT=4; _kq
            """
            file = tree / "share/zsh/vendor-completions/_kq"
            offered = self.run_ok("env", place, zsh, "-f", "-c", script, "zsh", file)
            self.assertIn("--run:name of the run", offered)
            self.assertIn("submit:send kernels to a broker", offered)
            self.assertIn("\nflashinfer-trace\n", offered)

    def test_a_moved_tree_sweeps_and_checks(self) -> None:
        self.run_ok("cmake", "--install", BUILD, "--prefix", self.folder / "first", "--strip")
        tree = (self.folder / "first").rename(self.folder / "second")
        self.assertFalse((tree / "etc").exists(), "units and settings belong below /usr only")
        example = tree / "share/doc/kq-client/examples/sweep"
        kernel = example / "submissions/relu/right_fast_torch.py"
        self.assertEqual(self.run_ok(tree / "bin/kq", "check", kernel), "")
        words = ["sweep", kernel, "--problem", example / "problems/relu.py", "--run", "first"]
        self.assertIn("right_fast_torch", self.run_ok(tree / "bin/kq", *words, "--state", self.folder / "state"))
        for typed, words in (
            ("kq su", "submit"),
            ("kq ctl keygen --ro", "--role"),
            ("kq-submit --ru", "--run"),
            ("kq ctl keygen --role ad", "admin"),
            ("kq dump r --format = jsonl", "jsonl"),
            ("kq plot r tim", "times"),
        ):
            self.assertEqual(self.completed(tree, typed), words)
        self.check_other_shells(tree)
        client = ["-c", "import kq; print(kq.__version__)"]
        path = str(tree / "lib/python3/dist-packages")
        self.assertIn(".", self.run_ok("env", f"PYTHONPATH={path}", os.environ["KQ_PYTHON"], *client))
        self.assertIn("usage: kq mcp", self.run_ok(tree / "bin/kq", "mcp", "--help"))


if __name__ == "__main__":
    unittest.main()
