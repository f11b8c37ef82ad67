"""Tests that a mistake on a command line or in a file ends with exit code 2 and one sentence before anything starts."""

import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import kq


class BadInput(kq.EndToEndTest):
    # Arguments of `kq`, and a part of the error text. FOLDER stands for the test's own folder.
    TABLE = (
        (("swep", "x"), "did you mean kq sweep?"),
        (("../sweep", "x"), "there is no verb '../sweep'"),
        (("sweep",), "PATH is required"),
        (("sweep", "FOLDER/good", "--rum", "a"), "there is no option '--rum'; did you mean --run?"),
        (("sweep", "FOLDER/good", "extra"), "extra: No such file or directory"),
        (("sweep", "FOLDER/good", "--device", "tpu"), "must be one of any|cpu|cuda, got tpu"),
        (("sweep", "FOLDER/good", "--timeout", "-1"), "must be a number of seconds above 0, got -1"),
        (("sweep", "FOLDER/gone"), "gone"),
        (("sweep", "FOLDER/broken"), "broken/submissions.jsonl:2"),
        (("sweep", "FOLDER/good", "--expect", "FOLDER/gone.csv"), "cannot read FOLDER/gone.csv"),
        (("sweep", "FOLDER/good", "--expect", "FOLDER/expect.csv"), "expect.csv:2: verdict 'fine'; known are passed, "),
        (("sweep", "FOLDER/good", "--csv", "FOLDER/gone/out.csv"), "gone/out.csv"),
        (("sweep", "FOLDER/good", "--broker", "http://x"), "broker 'http://x'"),
        (("sweep", "FOLDER/good", "--state", "FOLDER/expect.csv"), "expect.csv"),
        (("sweep", "FOLDER/good", "--run", "a\nb"), "control character"),
        (("results",), "RUN is required"),
        (("results", "r", "--source"), "--source goes with the run and one label of it"),
        (("results", "r", "--wait", "--store", "FOLDER"), "--wait needs a running broker"),
        (("dump",), "a RUN is needed, or --since WHEN"),
        (
            ("dump", "--run", "r", "--format", "xml"),
            "must be one of csv, jsonl, kernelbench, backendbench, flashinfer-trace, got 'xml'",
        ),
        (("dump", "--run", "r", "-o", "FOLDER"), "is a folder; the name of a file is needed"),
        (("dump", "--run", "r", "--broker", "tcp://nowhere"), "no port"),
        (("dump", "--run", "r", "--format", "kernelbench"), "writes several files; name their folder with -o DIR"),
        (("dump", "--run", "r", "--format", "jsonl", "--excel-safe"), "--excel-safe goes with --format csv"),
        (("dump", "--run", "r", "--merge"), "--merge and --pass-at-k go with --format kernelbench"),
        (
            ("dump", "--run", "r", "--format", "kernelbench", "-o", "FOLDER/out", "--level", "sample"),
            "--level and --columns do not go with",
        ),
        (("dump", "--run", "r", "--columns", "label,verdikt"), "there is no column 'verdikt', did you mean verdict?"),
        (("dump", "--run", "r", "--where", "verdict"), "must be like verdict=passed"),
        (("leaderboard", "--kernelbench"), "needs a RUN"),
        (("leaderboard", "--by", "speedup"), "--by must be author, backend or tag.NAME"),
        (("leaderboard", "--whole-level"), "go with --kernelbench"),
        (("leaderboard", "--format", "html"), "must be one of table|csv|json, got html"),
        (("up", "--broker-url", "udp://x:1"), "broker 'udp://x:1'"),
        (("up", "--state", "FOLDER/expect.csv"), "expect.csv"),
        (("completion", "tcsh"), "SHELL must be bash, zsh or fish, got 'tcsh'"),
        (("sweep", "FOLDER/good", "--tag", "model"), "--tag must be NAME=VALUE"),
        (("submit", "FOLDER/good", "--tag", "a=1", "--tag", "a=2"), "--tag gives 'a' two values"),
        (("version", "--yaml"), "there is no option '--yaml'"),
    )

    def test_each_mistake_is_one_sentence_and_leaves_no_file(self) -> None:
        good = kq.write_sweep(self.folder / "good", {"relu/a": kq.RIGHT})
        broken = kq.write_sweep(self.folder / "broken", {"relu/a": kq.RIGHT})
        with (broken / "submissions.jsonl").open("a") as lines:
            lines.write("{not json\n")
        (self.folder / "expect.csv").write_text("job,device,verdict,reason\nrelu/a,cpu,fine,\n")
        before = sorted(self.folder.rglob("*"))
        for words, sentence in self.TABLE:
            with self.subTest(" ".join(words)):
                placed = [word.replace("FOLDER", str(self.folder)) for word in words]
                if words[0] == "sweep" and "--state" not in words:
                    placed += ["--state", str(self.state)]
                done = kq.kq(*placed)
                self.assert_end(done, 2)
                self.assertIn(sentence.replace("FOLDER", str(self.folder)), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(sorted(self.folder.rglob("*")), before, "a file was left behind")
        self.assertTrue(Path(good).exists())

    def test_a_broker_that_does_not_answer_ends_with_code_3_and_a_hint_at_the_store(self) -> None:
        url = f"ipc://{self.folder}/nobody"
        verbs = (("results", "r"), ("dump", "--run", "r"), ("leaderboard",))
        with ThreadPoolExecutor() as pool:  # each command waits for its timeout of five seconds
            ends = pool.map(lambda words: kq.kq(*words, "--broker", url), verbs)
        for words, done in zip(verbs, ends):
            with self.subTest(words[0]):
                self.assert_end(done, 3)
                self.assertIn("did not answer", done.stderr)
                self.assertIn("--store DIR", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_every_verb_has_help_and_a_version(self) -> None:
        for verb in ("sweep", "submit", "up", "down", "results", "dump", "leaderboard", "completion", "version"):
            with self.subTest(verb):
                for words in ((verb, "--help"), ("help", verb), (verb, "--version")):
                    done = kq.kq(*words)
                    self.assert_end(done, 0)
                    self.assertNotEqual(done.stdout, "")
                    self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
