"""The Python client of release 0.1.0, from the history of the repository, works with this broker and this worker.

tests/golden/upgrade_test.py compares the messages of both in both directions.
"""

import importlib.util
import subprocess
import sys
import unittest

import kq

RELEASE = "2dcdd5cb"  # the commit at which CHANGELOG.md has 0.1.0
SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import kq
assert kq.__file__.startswith(sys.argv[1]), kq.__file__
with kq.Client(sys.argv[2]) as client:
    sources = [f"class ModelNew: pass  # {number}" for number in range(20)]
    verdicts = client.evaluate_many(sources, problem=kq.Problem.of(sys.argv[3], "relu"), timeout=60)
    print(*sorted({str(one.verdict.name.value) for one in verdicts}), len(verdicts))
"""


class UpgradeTest(kq.QueueTest):
    def test_a_client_of_the_release_before_gets_its_verdicts(self) -> None:
        if not all(importlib.util.find_spec(name) for name in ("zmq", "msgpack")):
            self.skipTest("this interpreter has no pyzmq or msgpack; scripts/setup installs them into .venv")
        command = ["git", "-C", str(kq.ROOT), "archive", RELEASE, "python/kq"]
        archive = subprocess.run(command, capture_output=True, check=False)
        if archive.returncode != 0:
            self.skipTest(f"the history of this checkout does not have {RELEASE}, the commit of release 0.1.0")
        subprocess.run(["tar", "x", "-C", str(self.folder)], input=archive.stdout, check=True)
        with self.broker():
            worker = subprocess.Popen(
                [str(kq.BIN / "light_worker"), self.url, "w"], env=kq.environment(), stderr=subprocess.DEVNULL
            )
            try:
                words = [sys.executable, "-c", SCRIPT, str(self.folder / "python"), self.url, kq.RELU]
                done = subprocess.run(
                    words, env=kq.environment(), capture_output=True, text=True, check=False, timeout=kq.LIMIT_S
                )
            finally:
                worker.kill()
                worker.wait(30)
        self.assert_end(done, 0)
        self.assertIn("passed", done.stdout)
        self.assertEqual(done.stdout.split()[-1], "20")


if __name__ == "__main__":
    unittest.main()
