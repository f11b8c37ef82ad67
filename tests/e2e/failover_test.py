"""A standby that is ordered to take over, with and without keys, and what becomes of the broker before it.

kill_brokers.py tests takeovers by the lease.
"""

import signal
import subprocess
import unittest
from pathlib import Path

import kq
from kq import program, wait_until
from ports import free_port


class FailoverTest(kq.EndToEndTest):
    def setUp(self) -> None:
        super().setUp()
        self.a, self.b = (f"ipc://{self.folder}/{name}.sock" for name in "ab")

    def broker(self, url: str, store: str, *more: str | Path):
        return program("kq-broker", "--bind", url, "--store", self.folder / store, *more)

    def submit(self, label: str, **changes: str) -> None:
        jobs = kq.write_sweep(self.folder / f"jobs-{label}", {label: f"# {label}\n{kq.RIGHT}"})
        self.assert_end(kq.kq("submit", jobs, "--run", "r", "--timeout", "20", **changes), 0)

    def labels(self, **changes: str) -> set[str]:
        done = kq.kq("dump", "--run", "r", **changes)
        self.assert_end(done, 0)
        return {row["label"] for row in kq.rows_of(done.stdout)}

    def promote(self, store: str) -> None:
        self.assert_end(kq.kq("ctl", "promote", "--store", self.folder / store), 0)

    def test_a_standby_takes_over_by_order_and_the_old_broker_ends(self) -> None:
        both = f"{self.a},{self.b}"
        with (
            self.broker(self.a, "a", "--replicas", "1") as first,
            self.broker(self.b, "b", "--follow", self.a, "--replicas", "0"),
        ):
            self.submit("one", KQ_BROKER=both)
            first.send_signal(signal.SIGSTOP)
            self.promote("b")
            self.submit("two", KQ_BROKER=both)
            self.assertEqual(self.labels(KQ_BROKER=self.b), {"one", "two"})
            first.send_signal(signal.SIGCONT)
            self.assertEqual(first.wait(20), 3, "the old broker hears of the later epoch and ends")
            # The old broker becomes the standby of the new one, and takes over in its turn.
            with self.broker(self.a, "a", "--follow", self.b, "--replicas", "0") as third:
                self.submit("three", KQ_BROKER=both)
                wait_until(lambda: self.is_followed(), "the old broker has every commit")
                self.promote("a")
                self.assertEqual(self.labels(KQ_BROKER=self.a), {"one", "two", "three"})
                self.assertIsNone(third.poll())

    def is_followed(self) -> bool:
        """Whether the store of the standby has the last job; the copy is read while it is written."""
        done = kq.kq("dump", "--run", "r", "--store", self.folder / "a")
        return done.returncode == 0 and "three" in done.stdout

    def test_without_its_standby_a_broker_that_requires_one_acknowledges_nothing(self) -> None:
        with self.broker(self.a, "a", "--replicas", "1"):
            jobs = kq.write_sweep(self.folder / "jobs", {"one": kq.RIGHT})
            done = kq.kq("submit", jobs, "--run", "r", "--timeout", "2", KQ_BROKER=self.a)
            self.assertNotEqual(done.returncode, 0)
            with self.broker(self.b, "b", "--follow", self.a):
                self.submit("one", KQ_BROKER=self.a)

    def test_the_broker_that_served_last_serves_again_unless_the_other_one_does(self) -> None:
        with self.broker(self.a, "a", "--replicas", "0"), self.broker(self.b, "b", "--follow", self.a) as second:
            self.submit("one", KQ_BROKER=self.a)
            second.terminate()
            self.assertEqual(second.wait(20), 0)
        with self.broker(self.a, "a", "--follow", self.b, "--replicas", "0"):
            self.submit("two", KQ_BROKER=self.a)

    def test_a_lease_that_is_released_is_taken_at_once(self) -> None:
        lease = ("--lease-file", self.folder / "lease", "--takeover-after", "60s")
        both = f"{self.a},{self.b}"
        with (
            self.broker(self.a, "a", "--follow", self.b, *lease, "--replicas", "0") as first,
            self.broker(self.b, "b", "--follow", self.a, *lease, "--replicas", "0"),
        ):
            for number in range(5):
                self.submit(f"job {number}", KQ_BROKER=both)
            first.terminate()
            self.assertEqual(first.wait(20), 0)
            self.submit("last", KQ_BROKER=both)
            self.assertEqual(len(self.labels(KQ_BROKER=self.b)), 6, "a broker that stops hands its last commits over")

    def test_with_keys_only_a_standby_may_follow(self) -> None:
        keys = self.folder / "keys"
        for role in ("submit", "work", "standby"):
            done = kq.kq("ctl", "keygen", "--keys", keys, "--name", role, "--role", role, "-o", self.folder / role)
            self.assert_end(done, 0)
        a, b = free_port(), free_port()
        url_a, url_b = f"tcp://127.0.0.1:{a}", f"tcp://127.0.0.1:{b}"
        follow = ("--follow", url_a, "--keys", keys, "--standby-key")
        mine = {"KQ_KEY": str(self.folder / "submit"), "KQ_BROKER": f"{url_a},{url_b}"}
        with self.broker(url_a, "a", "--keys", keys, "--replicas", "1") as first:
            command = [str(kq.BIN / "kq-broker"), "--bind", url_b, "--store", str(self.folder / "b"), *map(str, follow)]
            refused = subprocess.run(
                [*command, str(self.folder / "work")], env=kq.environment(), capture_output=True, text=True, check=False
            )
            self.assertEqual(refused.returncode, 2)
            self.assertIn("here a key with the role standby is needed", refused.stderr)
            with self.broker(url_b, "b", *follow, self.folder / "standby"):
                self.submit("one", **mine)
                first.kill()
                first.wait(20)
                self.promote("b")
                self.submit("two", **mine)
                self.assertEqual(self.labels(**mine), {"one", "two"})


if __name__ == "__main__":
    unittest.main()
