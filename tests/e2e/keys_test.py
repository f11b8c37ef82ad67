"""Tests a broker with keys: a client with a key works, and a client without one is refused and leaves no trace."""

import base64
import contextlib
import json
import re
import subprocess
import unittest
import zlib
from collections.abc import Iterator
from pathlib import Path

import kq
from ports import free_port


def sources_in(report: Path) -> set[str]:
    """Returns the sources that a report holds, which are packed in groups of jobs."""
    groups = re.findall(r'id="group-[0-9]+">([^<]+)<', report.read_text())
    return {text for one in groups for text in json.loads(zlib.decompress(base64.b64decode(one)))["files"].values()}


class Keys(kq.EndToEndTest):
    def setUp(self) -> None:
        super().setUp()
        self.port = free_port()
        self.url = f"tcp://127.0.0.1:{self.port}"
        self.keys = self.folder / "keys"

    def issue(self, role: str, name: str, keys: str = "keys") -> Path:
        path = self.folder / f"{name}.key"
        subprocess.run([kq.BIN / "issue_key", self.folder / keys, role, name, path], check=True)
        return path

    def test_a_client_with_a_key_is_accepted(self) -> None:
        alice, gpu, root = self.issue("submit", "alice"), self.issue("work", "gpu"), self.issue("admin", "root")
        bind, store = f"tcp://0.0.0.0:{self.port}", self.folder / "store"
        kernels = kq.write_sweep(self.folder / "kernels", {"relu/a": kq.RIGHT})
        with kq.program("kq-broker", "--bind", bind, "--store", store, "--keys", self.keys):
            self.check_refused_keys(alice, gpu, root)
            done = kq.kq("submit", kernels, "--run", "r", "--broker", self.url, "--key", alice)
            self.assert_end(done, 0)
            (row,) = kq.dump("r", "--broker", self.url, "--key", root)
            self.assertEqual((row["label"], row["state"]), ("relu/a", "queued"))
            self.assert_end(kq.kq("results", "r", "--broker", self.url, KQ_KEY=str(alice)), 4)
            self.revoke("alice")
            self.refused(("results", "r"), alice, "it does not accept this key")
            self.assert_end(kq.kq("results", "r", "--broker", self.url, "--key", root), 4)

    def check_refused_keys(self, alice: Path, gpu: Path, root: Path) -> None:
        foreign = self.issue("admin", "mallory", keys="keys of another broker")
        for words in (("results", "r"), ("dump", "--run", "r"), ("leaderboard",)):
            self.refused(words, None, "--key FILE or KQ_KEY")
        self.refused(("leaderboard",), foreign, "key")
        self.refused(("leaderboard",), gpu, "is of 'gpu' with the role work")
        open_key = self.folder / "open.key"
        open_key.write_bytes(root.read_bytes())
        open_key.chmod(0o644)
        self.refused(("leaderboard",), open_key, "holds a secret and others than its owner may use it")
        command = [kq.BIN / "kq-worker", "--connect", self.url, "--key", alice, "--state", self.folder / "worker"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=kq.environment(), check=False)
        self.assert_end(done, 2)
        self.assertIn("is of 'alice' with the role submit; here a key with the role work is needed", done.stderr)

    def refused(self, words: tuple[str, ...], key: Path | None, sentence: str) -> None:
        with self.subTest(" ".join(words), key=key):
            done = kq.kq(*words, "--broker", self.url, *(("--key", key) if key else ()))
            self.assert_end(done, 2)
            self.assertIn(sentence, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertEqual(done.stdout, "")

    def revoke(self, *names: str) -> None:
        """Replaces the file by a rename, as an editor does."""
        listed = self.keys / "authorized"
        changed = self.keys / "authorized.new"
        lines = listed.read_text().splitlines(keepends=True)
        changed.write_text("".join(line for line in lines if not any(f" {name} " in line for name in names)))
        changed.rename(listed)

    @contextlib.contextmanager
    def worker(self, name: str) -> Iterator[Path]:
        """Runs a worker, and yields its log."""
        words = ("--connect", self.url, "--key", self.issue("work", name), "--state", self.folder / name)
        path = self.folder / f"{name}.log"
        with path.open("wb") as log, kq.program("kq-worker", *words, "--devices", "cpu", stderr=log):
            yield path

    def test_a_worker_whose_key_is_revoked_gets_no_more_jobs(self) -> None:
        ann, ben = self.issue("submit", "ann"), self.issue("submit", "ben")
        bind, store = f"tcp://0.0.0.0:{self.port}", self.folder / "store"
        kernels = kq.write_sweep(self.folder / "kernels", {"relu/a": kq.RIGHT})
        asked = ("--broker", self.url, "--key", ben)
        with kq.program("kq-broker", "--bind", bind, "--store", store, "--keys", self.keys), self.worker("old") as log:
            kq.wait_until(lambda: "old" in kq.kq("ctl", "workers", *asked).stdout, "the worker is connected")
            self.revoke("old", "ann")
            kq.wait_until(lambda: "its key has been revoked" in log.read_text(), "the worker says why")
            self.refused(("results", "r"), ann, "it does not accept this key")  # the broker has read the list
            self.assert_end(kq.kq("submit", kernels, "--run", "r", *asked), 0)
            kq.wait_until(lambda: "old" not in kq.kq("ctl", "workers", *asked).stdout, "the worker is dropped")
            with self.worker("new"):
                self.assert_end(kq.kq("results", "r", "--wait", *asked), 0)
            (row,) = kq.dump("r", *asked)
            self.assertEqual((row["worker"], row["retries"]), ("new", "0"))

    def test_submitters_cannot_take_from_one_another(self) -> None:
        ada, bob, root = (
            self.issue(role, name) for role, name in (("submit", "ada"), ("submit", "bob"), ("admin", "root"))
        )
        bind, store = f"tcp://0.0.0.0:{self.port}", self.folder / "store"
        own = kq.write_sweep(self.folder / "own", {"relu/a": kq.RIGHT})
        other = kq.write_sweep(self.folder / "other", {"relu/a": kq.RIGHT + "# other\n"})

        def as_(key: Path, *words: str | Path, code: int = 0) -> str:
            done = kq.kq(*words, "--broker", self.url, "--key", key)
            self.assert_end(done, code)
            return done.stdout + done.stderr

        with kq.program("kq-broker", "--bind", bind, "--store", store, "--keys", self.keys):
            as_(ada, "submit", own, "--run", "r")
            self.assertIn("run 'r' belongs to ada", as_(bob, "submit", other, "--run", "r", code=2))
            self.assertEqual(as_(ada, "results", "r", "relu/a", "--source"), kq.RIGHT)
            self.assertIn("for its submitter", as_(bob, "results", "r", "relu/a", "--source", code=2))
            for key, sources in ((ada, {kq.RIGHT, kq.RELU}), (bob, set())):
                as_(key, "report", "r", "-o", self.folder / "r.html")
                self.assertEqual(sources_in(self.folder / "r.html"), sources)
            self.assertIn("belongs to ada", as_(bob, "ctl", "share", "r", "bob", code=2))
            as_(ada, "ctl", "share", "r", "bob")
            self.assertEqual(as_(bob, "results", "r", "relu/a", "--source"), kq.RIGHT)
            as_(bob, "submit", own, "--run", "mine", "--share", "ada")
            as_(ada, "submit", other, "--run", "mine")
            (row,) = kq.dump("r", "--broker", self.url, "--key", root)
            self.assertEqual(row["submitter"], "ada")
            self.assertIn("left 1 to other submitters", as_(ada, "ctl", "cancel", row["job_id"]))
            self.assertIn("cancelled 1 job", as_(bob, "ctl", "cancel", row["job_id"]))
            self.assertIn("run ada/other", as_(ada, "submit", other))

    def test_up_gives_its_keys_to_broker_and_worker(self) -> None:
        alice, gpu = self.issue("submit", "alice"), self.issue("work", "gpu")
        kernels = kq.write_sweep(self.folder / "kernels", {"relu/a": kq.RIGHT})
        where = ("--state", self.state, "--broker-url", self.url, "--devices", "cpu")
        missing = kq.kq("up", *where, "--keys", self.keys)
        self.assert_end(missing, 2)
        self.assertIn("--keys and --worker-key belong together", missing.stderr)
        self.assert_end(kq.kq("up", "-d", *where, "--keys", self.keys, "--worker-key", gpu), 0)
        try:
            self.assert_end(kq.kq("sweep", kernels, "--run", "r", "--broker", self.url, "--key", alice), 0)
            (row,) = kq.dump("r", "--broker", self.url, "--key", alice)
            self.assertEqual((row["label"], row["verdict"]), ("relu/a", "passed"))
            self.assert_end(kq.kq("leaderboard", "--broker", self.url, KQ_KEY=str(alice)), 0)
        finally:
            self.assert_end(kq.kq("down", "--state", self.state), 0)

    def test_without_keys_the_broker_listens_only_on_this_machine(self) -> None:
        command = [kq.BIN / "kq-broker", "--bind", f"tcp://0.0.0.0:{self.port}", "--store", self.folder / "store"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=kq.environment(), check=False)
        self.assert_end(done, 2)
        self.assertIn("off-loopback needs keys; give the broker a folder of them with --keys DIR", done.stderr)


if __name__ == "__main__":
    unittest.main()
