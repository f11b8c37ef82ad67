"""Runs kq-submit with bad input, without a broker, and with an interrupt.

The tests check the exit code and that standard error has one sentence for each mistake.

Usage: submit_cli_test.py KQ_SUBMIT [EXAMPLE_SWEEP]
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(sys.argv[1]).resolve()
SWEEP = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None

PROBLEM = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x

def get_inputs():
    return [torch.rand(4)]

def get_init_inputs():
    return []
"""
KERNEL = PROBLEM.replace("class Model(", "class ModelNew(")


class SubmitTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="kq-cli.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.write("problem.py", PROBLEM)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def submit(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("KQ_")}
        result = subprocess.run(
            [PROGRAM, *map(str, words)], capture_output=True, text=True, env=env, cwd=self.folder, timeout=60
        )
        for trace in ("terminate called", "what():", "Traceback", "Sanitizer"):
            self.assertNotIn(trace, result.stderr)
        for line in result.stderr.splitlines():
            self.assertTrue(line.startswith("kq-submit: "), line)
        return result

    def refused(self, *words: str | Path) -> list[str]:
        """Checks that kq-submit refuses its input, and returns the sentences of standard error."""
        result = self.submit(*words)
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(result.stdout, "")
        return [line.removeprefix("kq-submit: ") for line in result.stderr.splitlines()]

    def test_file_that_is_no_kernel(self) -> None:
        notes = self.write("notes.txt", "hello")
        first, last = self.refused(notes, "--problem", "problem.py")
        self.assertIn("notes.txt is no kernel; known are: ", first)
        self.assertEqual(last, "nothing was sent")

    def test_binary_and_empty_kernels(self) -> None:
        self.write("binary.py", b"\x7fELF\0\0")
        self.write("empty.py", "")
        for name, sentence in (
            ("binary.py", "binary.py is no source text: it holds NUL bytes"),
            ("empty.py", "empty.py is empty"),
        ):
            self.assertEqual(self.refused(name, "--problem", "problem.py"), [sentence, "nothing was sent"])

    def test_source_of_100_mb(self) -> None:
        with self.write("big.py", "").open("r+b") as big:
            big.truncate(100 << 20)  # a sparse file
        sentences = self.refused("big.py", "--problem", "problem.py")
        self.assertEqual(sentences[0], "big.py is 104857600 bytes, a source may have 1048576")

    def test_problem_without_model(self) -> None:
        self.write("add.py", KERNEL)
        self.write("bad.py", "def get_inputs(): ...\n")
        sentences = self.refused("add.py", "--problem", "bad.py")
        self.assertEqual(
            sentences[0],
            "bad.py: a problem defines class Model and get_inputs; missing here: class Model",
        )

    def test_empty_directory(self) -> None:
        (self.folder / "empty").mkdir()
        self.assertIn("empty holds no submissions: neither in it nor below it", self.refused("empty")[0])

    def test_broken_line(self) -> None:
        self.write("add.py", KERNEL)
        good = json.dumps({"problem": "problem.py", "path": "add.py"})
        self.write("submissions.jsonl", good + "\n{broken\n")
        self.assertRegex(self.refused(".")[0], r"submissions\.jsonl:2: not JSON, column 2: ")

    def test_name_with_a_newline_stays_on_its_line(self) -> None:
        self.write("a\nb.py", KERNEL)
        sentences = self.refused("a\nb.py", "--problem", "problem.py", "--run", "r")
        self.assertEqual(sentences, ["a\\nb.py: the label holds a control character at byte 1", "nothing was sent"])

    def test_wrong_contract(self) -> None:
        self.write("scale.cu", "__global__ void scale() {}")
        self.assertIn("scale.cu needs scale.json beside it", self.refused("scale.cu", "--problem", "problem.py")[0])
        self.write("scale.json", '{"args": [], "launch": {}}')
        self.assertEqual(len(self.refused("scale.cu", "--problem", "problem.py")), 4)

    def test_many_mistakes_are_counted(self) -> None:
        self.write("submissions.jsonl", "".join(f'{{"label": "a{i}", "backend": "b{i}"}}\n' for i in range(30)))
        sentences = self.refused(".")
        self.assertEqual(len(sentences), 22)
        self.assertRegex(sentences[20], "^and [0-9]+ more$")
        self.assertEqual(sentences[21], "nothing was sent")

    def test_what_is_wrong_with_many_files_is_said_once(self) -> None:
        for i in range(5):
            self.write(f"k{i}.py", KERNEL)
        sentences = self.refused("k0.py", "k1.py", "k2.py", "k3.py", "k4.py")
        self.assertEqual(len(sentences), 2)
        self.assertRegex(sentences[0], "^k0.py, k1.py, k2.py and 2 more: which problem does it solve[?]")

    def test_wrong_command_lines(self) -> None:
        self.write("add.py", KERNEL)
        for words, sentence in (
            ((), "PATH is required; see kq-submit --help"),
            (("add.py", "--nonsense"), "there is no option '--nonsense' (kq-submit --help lists the options)"),
            (("add.py", "--backend", "hip"), "--backend must be one of torch, triton, cuda, torch_cuda, multi_kernel, "
                                             "eval_program, got 'hip'"),
            (("add.py", "--broker", "nowhere"), "broker 'nowhere': a URL such as tcp://127.0.0.1:5570 or "
                                                "ipc:///tmp/kq.sock is needed"),
        ):  # fmt: skip
            self.assertEqual(self.refused(*words), [sentence])

    def test_dry_run_needs_no_broker(self) -> None:
        self.write("add.py", KERNEL)
        words = ("add.py", "--problem", "problem.py", "--device", "cpu", "--repeat", "2", "--dry-run")
        lines = [line.split("\t") for line in self.submit(*words).stdout.splitlines()]
        self.assertEqual([line[:3] for line in lines], [["add", "torch", "cpu"], ["add#2", "torch", "cpu"]])
        listing = json.loads(self.submit(*words, "--json").stdout)
        self.assertEqual(listing["run"], "add")
        self.assertTrue(listing["jobs"][0]["key"].startswith(lines[0][3]))

    def test_keep_going_takes_the_good_part(self) -> None:
        self.write("good.py", KERNEL)
        self.write("odd.py", b"\0")
        result = self.submit("good.py", "odd.py", "--problem", "problem.py", "--dry-run", "--keep-going")
        self.assertEqual(result.returncode, 2)
        self.assertTrue(result.stdout.startswith("good\t"))
        self.assertEqual(result.stderr.splitlines()[-1], "kq-submit: 1 kernel was wrong and not submitted")

    def test_an_empty_sample_does_not_stop_the_run(self) -> None:
        self.write("level1/1_a.py", PROBLEM)
        self.write("run/level_1_problem_1_sample_0_kernel.py", KERNEL)
        self.write("run/level_1_problem_1_sample_1_kernel.py", "")
        result = self.submit("run", "--problems", ".", "--dry-run")
        self.assertEqual((result.returncode, len(result.stdout.splitlines())), (0, 2), result)
        self.assertIn("1 kernel is empty, and sent as a comment that says so: it will fail", result.stderr)

    def test_file_that_may_not_be_read(self) -> None:
        self.write("secret.py", KERNEL).chmod(0)
        if os.access(self.folder / "secret.py", os.R_OK):
            (self.folder / "secret.py").unlink()  # root can read every file
            (self.folder / "secret.py").symlink_to("secret.py")
        for words in (("secret.py",), ("secret.py", "--problem", "problem.py")):
            sentence, last = self.refused(*words)
            self.assertRegex(sentence, r"^secret\.py: (Permission denied|Too many levels of symbolic links)$")

    def test_empty_standard_input(self) -> None:
        for words in ((), ("--problem", "problem.py")):
            for text in ("", " \n"):
                command = [PROGRAM, "-", *words]
                done = subprocess.run(
                    command, input=text, capture_output=True, text=True, cwd=self.folder, timeout=60, check=False
                )
                self.assertEqual((done.returncode, done.stderr), (2, "kq-submit: standard input is empty\n"))

    def test_broker_that_is_not_there(self) -> None:
        self.write("add.py", KERNEL)
        url = f"ipc://{self.folder}/none.sock"
        result = self.submit("add.py", "--problem", "problem.py", "--broker", url, "--timeout", "1")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(
            result.stderr, f"kq-submit: broker {url} did not answer within 1 s; is it running? start one with: kq up\n"
        )

    def test_a_signal_ends_the_call(self) -> None:
        self.write("add.py", KERNEL)
        for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with socket.socket(socket.AF_UNIX) as silent:
                silent.bind(f"{self.folder}/silent{code}.sock")
                silent.listen()
                silent.settimeout(30)
                url = f"ipc://{self.folder}/silent{code}.sock"
                process = subprocess.Popen(
                    [PROGRAM, "add.py", "--problem", "problem.py", "--broker", url, "--json"],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    cwd=self.folder,
                )
                with silent.accept()[0]:  # kq-submit connects after it has set its signal handler
                    process.send_signal(sent)
                    output, errors = process.communicate(timeout=30)
            self.assertEqual((process.returncode, errors), (code, "kq-submit: interrupted\n"))
            self.assertEqual(json.loads(output)["exit_code"], code)

    def test_standard_input_and_patterns(self) -> None:
        self.write("k/a.py", KERNEL)
        self.write("k/b.py", "# kq: precision=fp16\n" + KERNEL)
        result = self.submit("k/*.py", "--problem", "problem.py", "--dry-run", "-q")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual([line.split("\t")[0] for line in result.stdout.splitlines()], ["a", "b"])
        self.assertTrue(result.stdout.endswith("\tproblem=problem precision=fp16 (k/b.py:1)\n"), result.stdout)
        self.assertEqual(self.refused("x/*.py"), ["nothing matches 'x/*.py'"])
        lines = json.dumps({"problem": "problem.py", "path": "k/a.py"}) + "\n"
        command = [PROGRAM, "-", "--dry-run", "--json"]
        done = subprocess.run(
            command, input=lines, capture_output=True, text=True, cwd=self.folder, timeout=60, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(" is read as jsonl: ", done.stderr)
        self.assertEqual([job["label"] for job in json.loads(done.stdout)["jobs"]], ["k/a"])

    def test_words_of_kernelbench(self) -> None:
        self.write("KernelBench/level1/1_a.py", PROBLEM)
        self.write("runs/mine/level_1_problem_1_sample_0_kernel.py", KERNEL)
        self.write("runs/mine/level_2_problem_1_sample_0_kernel.py", KERNEL)
        result = self.submit("run_name=mine", "dataset_src=local", "level=1", "timeout=180", "--dry-run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("ignored", result.stderr)  # every option has a meaning
        self.assertEqual(result.stdout.split("\t")[0], "level_1_problem_1_sample_0")
        result = self.submit("KernelBench", "--dry-run", "-q")
        self.assertEqual(result.stdout.split("\t")[0], "level_1_problem_1_sample_0")
        result = self.submit(
            "ref_origin=kernelbench",
            "level=1",
            "problem_id=1",
            "kernel_src_path=runs/mine/level_1_problem_1_sample_0_kernel.py",
            "--dry-run",
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        # The label is the same as in the run.
        self.assertEqual(result.stdout.split("\t")[0], "level_1_problem_1_sample_0")
        result = self.submit("runs/mine/level_1_problem_1_sample_0_kernel.py", "--problems", ".", "--dry-run")
        self.assertEqual(result.stdout.split("\t")[0], "level_1_problem_1_sample_0", result.stderr)

    def test_without_a_broker_a_spool_keeps_the_jobs(self) -> None:
        self.write("add.py", KERNEL)
        url = f"ipc://{self.folder}/nobody.sock"
        result = self.submit("add.py", "--problem", "problem.py", "--broker", url, "--spool", "spool")
        self.assertEqual(result.returncode, 0)
        self.assertIn("1 job of run add waits in spool; to send: kq submit --spool spool", result.stderr)
        self.assertEqual(len(list(self.folder.glob("spool/*.kqbatch"))), 1)
        result = self.submit("--broker", url, "--spool", "empty")
        self.assertEqual(result.returncode, 5)

    def test_a_wait_for_jobs_that_stay_in_a_spool_fails(self) -> None:
        self.write("add.py", KERNEL)
        words = ("add.py", "--problem", "problem.py", "--broker", f"ipc://{self.folder}/nobody.sock", "--json")
        result = self.submit(*words, "--spool", "spool", "--wait", "--exit-zero")
        self.assertEqual(result.returncode, 3, result)
        self.assertIn("waits in spool; to send: kq submit --spool spool --wait", result.stderr)
        told = json.loads(result.stdout)
        self.assertEqual((told["run"], told["exit_code"], len(told["errors"])), ("add", 3, 1))
        self.assertEqual([(job["label"], job["acceptance"]) for job in told["jobs"]], [("add", "spooled")])
        result = self.submit(*words, "--spool", "spool")
        self.assertEqual((result.returncode, json.loads(result.stdout)["exit_code"]), (0, 0))

    def test_json_tells_errors_and_the_exit_code(self) -> None:
        self.write("add.py", KERNEL)
        self.write("odd.py", b"\0")
        for words, run, errors in (
            (("nothere.py", "--problem", "problem.py"), "nothere", ["nothere.py: No such file or directory"]),
            (("add.py", "--nonsense"), None, ["there is no option '--nonsense'"]),
            (("x/*.py",), None, ["nothing matches 'x/*.py'"]),
        ):
            result = self.submit(*words, "--json")
            told = json.loads(result.stdout)
            self.assertEqual((result.returncode, told["exit_code"], told["jobs"], told["run"]), (2, 2, [], run), told)
            self.assertEqual(len(told["errors"]), len(errors), told)
            for got, wanted in zip(told["errors"], errors, strict=True):
                self.assertIn(wanted, got)
        told = json.loads(
            self.submit("add.py", "odd.py", "--problem", "problem.py", "--dry-run", "--json", "--keep-going").stdout
        )
        self.assertEqual(
            (told["exit_code"], told["left_out"], told["errors"]),
            (2, 1, ["odd.py is no source text: it holds NUL bytes"]),
        )

    def test_full_disk_behind_standard_output(self) -> None:
        with open("/dev/full", "w") as full:
            result = subprocess.run([PROGRAM, "--version"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr, "kq-submit: cannot write standard output: No space left on device\n")

    def test_the_example_sweep_is_right(self) -> None:
        if SWEEP is None:
            self.fail("the example sweep is missing: give its path as the second argument")
        result = self.submit(SWEEP, "--dry-run")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr, f"kq-submit: {SWEEP} is read as jsonl: it holds a submissions.jsonl\n")
        self.assertEqual(len(result.stdout.splitlines()), len((SWEEP / "submissions.jsonl").read_text().splitlines()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
