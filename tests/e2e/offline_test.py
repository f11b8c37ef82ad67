"""Reading what is not there: a store with no run in it, results without a broker, columns explained."""

import json
import unittest

import kq


class Offline(kq.Story):
    def setUp(self) -> None:
        super().setUp()
        with kq.program("kq-broker", "--bind", f"ipc://{self.folder}/b", "--store", self.state / "store") as broker:
            broker.terminate()
            self.assertEqual(broker.wait(30), 0)

    def test_a_run_nobody_knows(self) -> None:
        done = kq.kq("results", "gone", "--store", self.state)
        self.assert_end(done, 5)
        self.assertIn("there is no run 'gone'", done.stderr)
        done = kq.kq("leaderboard", "--run", "gone", "--store", self.state)
        self.assert_end(done, 5)
        done = kq.kq("dump", "--run", "gone", "--store", self.state)
        self.assert_end(done, 5)
        self.assertTrue(done.stdout.startswith("schema,job_id,run,label,"), "the header is still written")

    def test_columns_are_explained(self) -> None:
        explained = {line.split()[0] for line in kq.kq("dump", "--schema").stdout.splitlines()[1:]}
        header = kq.kq("dump", "--run", "gone", "--store", self.state).stdout.strip().split(",")
        self.assertEqual(explained, set(header))

    def test_a_reader_that_leaves_is_no_error(self) -> None:
        shell = f"set -o pipefail; {kq.BIN}/kq dump --schema | true"
        done = kq.subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.stderr, "")

    def test_version_is_json(self) -> None:
        done = kq.kq("version", "--json")
        self.assert_end(done, 0)
        versions = json.loads(done.stdout)
        for name in ("kq", "protocol", "schema", "evaluator", "cppzmq", "libzmq", "msgpack-c", "spdlog", "rocksdb", "googletest"):
            self.assertTrue(versions[name]["version"], name)
        self.assertIn("cuda_toolkit", versions)


if __name__ == "__main__":
    unittest.main()
