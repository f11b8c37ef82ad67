"""deploy/systemd/kq-backup, as its timer runs it: backups of a running broker, the newest of which stay, and copies of
them by rclone, which a broker can be restored from.
"""

import os
import shutil
import subprocess
import time
import unittest

import kq

SCRIPT = kq.ROOT / "deploy/systemd/kq-backup"


class BackupTest(kq.QueueTest):
    def back_up(self, **changes: str) -> str:
        settings = {"KQ_BACKUP_DIR": str(self.folder / "backups"), "KQ_BACKUP_KEEP": "2", "KQ_BROKER": self.url}
        env = kq.environment(PATH=f"{kq.BIN}:{os.environ['PATH']}", **settings | changes)
        done = subprocess.run([SCRIPT], env=env, capture_output=True, text=True, check=False, timeout=kq.LIMIT_S)
        self.assert_end(done, 0)
        return done.stdout

    def kept(self, folder: str) -> list[str]:
        return sorted(path.name for path in (self.folder / folder).iterdir())

    def restored_labels(self, backup: str, store: str) -> set[str]:
        self.assert_end(kq.kq("ctl", "restore", self.folder / backup, "--store", self.folder / store), 0)
        return {row["label"] for row in kq.dump("r", "--store", self.folder / store)}

    def test_the_newest_backups_stay(self) -> None:
        with self.broker():
            made = []
            for label in ("one", "two", "three"):
                kq.write_sweep(self.folder / label, {label: f"# {label}\n{kq.RIGHT}"})
                self.assert_end(kq.kq("submit", self.folder / label, "--run", "r", KQ_BROKER=self.url), 0)
                self.back_up()
                made.append(self.kept("backups")[-1])
                time.sleep(1.01)  # names have seconds
        self.assertEqual(self.kept("backups"), made[1:])
        self.assertEqual(self.restored_labels(f"backups/{made[1]}", "restored"), {"one", "two"})

    def test_a_host_whose_broker_stands_by_makes_no_backup(self) -> None:
        self.assertIn("does not serve", self.back_up(KQ_FOLLOW="ipc:///nowhere", KQ_BROKER=f"ipc://{self.folder}/none"))

    @unittest.skipUnless(shutil.which("rclone"), "rclone is not installed")
    def test_rclone_has_the_backups_that_are_here(self) -> None:
        remote = self.folder / "remote"
        remote.mkdir()
        settings = {"KQ_BACKUP_REMOTE": str(remote), "KQ_BACKUP_KEEP": "1", "HOME": str(self.folder)}
        with self.broker():
            kq.write_sweep(self.folder / "one", {"one": kq.RIGHT})
            self.assert_end(kq.kq("submit", self.folder / "one", "--run", "r", KQ_BROKER=self.url), 0)
            self.back_up(**settings)
            first = self.kept("remote")
            time.sleep(1.01)
            self.back_up(**settings)
        self.assertEqual(self.kept("remote"), self.kept("backups"))
        self.assertNotEqual(self.kept("remote"), first)
        self.assertEqual(self.restored_labels(f"remote/{self.kept('remote')[0]}", "restored"), {"one"})


if __name__ == "__main__":
    unittest.main()
