"""Tests control groups of both versions over a made-up tree; hostile_test.py tests what the kernel does with them."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

from harness.sandbox.cgroup import (
    BUILD_SHARES,
    MARGIN_BYTES,
    PREFIX,
    Cgroups,
    legacy_places,
    own_group_name,
    pid_namespace,
    remove_abandoned,
    unified_places,
)

assert MARGIN_BYTES > 0


class Trees(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)

    def group(self, path: str, **files: str) -> Path:
        group = self.root / path
        group.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (group / name.replace("__", ".")).write_text(text)
        return group

    def test_version_2_goes_below_the_root_or_beside_a_delegated_group(self) -> None:
        self.group(".", cgroup__controllers="memory pids")
        own = self.group("system.slice/kq.service/worker", cgroup__controllers="memory pids")
        self.assertEqual(unified_places(self.root, "0::/\n"), [self.root])
        self.assertEqual(unified_places(self.root, "0::/system.slice/kq.service/worker\n"), [own, own.parent])
        self.assertEqual(unified_places(self.root, "4:memory:/x\n"), [])

    def test_version_1_needs_its_memory_hierarchy(self) -> None:
        memory, pids = self.group("memory/box"), self.group("pids")
        own = "8:pids:/\n4:memory:/box\n1:cpu,cpuacct:/\n0::/\n"
        self.assertEqual(legacy_places(self.root, own), [memory, pids])
        self.assertEqual(legacy_places(self.root, "8:pids:/\n"), [])

    def test_processors_are_shared_out_where_we_may(self) -> None:
        memory, cpu = self.group("memory"), self.group("cpu")
        own = "4:memory:/\n1:cpu:/\n"
        self.assertEqual(legacy_places(self.root, own), [memory, cpu])
        groups = Cgroups([memory, cpu], 1)
        for name, is_build in (("build", True), ("child", False)):
            self.group(f"cpu/{name}", cpu__shares="1024")
            with self.subTest(name), unittest.mock.patch.object(Path, "mkdir"):
                groups.make(name, 1 << 30, is_build)
                self.assertEqual((cpu / name / "cpu.shares").read_text(), "102" if is_build else "1024")

    def test_a_group_that_cannot_be_had_everywhere_is_nowhere(self) -> None:
        memory, pids = self.group("memory"), self.group("pids")
        self.group("pids/child")
        with self.assertRaises(OSError):
            Cgroups([memory, pids], 1).make("child", 1 << 30)
        self.assertEqual(list(memory.iterdir()), [])

    def test_hierarchies_that_are_one_count_once(self) -> None:
        both = self.group("cpu,memory")
        for name in ("cpu", "memory"):
            (self.root / name).symlink_to(both)
        self.assertEqual(legacy_places(self.root, "4:cpu,memory:/\n"), [both])

    def test_a_build_gets_less_of_a_processor_than_another_child(self) -> None:
        groups = Cgroups.find()
        if groups is None:
            self.skipTest("no control groups can be made here")
        self.addCleanup(groups.close)
        groups.make("build", 1 << 30, True)
        if not any((group / file).exists() for group in groups.groups("build") for file in BUILD_SHARES):
            groups.remove("build")
            self.skipTest("control groups here do not share out processors")
        groups.make("child", 1 << 30)
        cpu = min(os.sched_getaffinity(0))
        # Each process spins for the same two seconds, which begin when all have started.
        spin = (
            "import time\nprint('ready', flush=True)\nbegin = float(input())\n"
            "while time.monotonic() < begin: time.sleep(0.001)\nworked = time.process_time()\n"
            "while time.monotonic() < begin + 2: pass\nprint(time.process_time() - worked)"
        )

        def enter(name: str) -> None:
            groups.enter(name)
            os.sched_setaffinity(0, {cpu})

        names = ["build"] * 5 + ["child"]
        spinning = [
            subprocess.Popen(
                [sys.executable, "-c", spin],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                preexec_fn=lambda name=name: enter(name),
            )
            for name in names
        ]
        for one in spinning:
            assert one.stdout is not None
            self.assertEqual(one.stdout.readline(), "ready\n")
        begin = time.monotonic() + 1
        for one in spinning:
            assert one.stdin is not None
            one.stdin.write(f"{begin}\n")
            one.stdin.flush()
        took_s = [float(one.communicate()[0]) for one in spinning]
        for name in ("build", "child"):
            groups.remove(name)
        self.assertGreater(took_s[-1], 2 * sum(took_s[:-1]))

    def test_a_tree_without_limits_is_not_taken_for_one(self) -> None:
        self.group(".", cgroup__controllers="memory pids")
        self.assertIsNone(Cgroups.find(self.root, "0::/\n"))

    def test_an_end_for_want_of_memory_is_read_from_either_version(self) -> None:
        for file, words, killed in (
            ("memory.events", "low 0\noom 3\noom_kill 0\noom_group_kill 0\n", False),
            ("memory.events", "low 0\noom 3\noom_kill 12\n", True),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", False),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", True),
        ):
            with self.subTest(words):
                (self.group(words.replace("\n", " ") + "/child") / file).write_text(words)
                groups = Cgroups([self.root / words.replace("\n", " ")], 2)
                self.assertEqual(groups.killed_for_memory("child"), killed)

    def test_what_a_dead_zygote_left_goes_and_what_a_living_one_has_stays(self) -> None:
        elsewhere = f"{PREFIX}{pid_namespace() + 1}-1-7"
        self.group(f"{PREFIX}{pid_namespace()}-4194305-7/child-1")  # above the highest possible pid
        self.group(f"{PREFIX}{pid_namespace()}-{os.getpid()}-12345/child-1")  # a pid that was used again
        self.group(f"{own_group_name()}/child-1")
        self.group(f"{elsewhere}/child-1")
        remove_abandoned([self.root])
        self.assertEqual({path.name for path in self.root.iterdir()}, {own_group_name(), elsewhere})

    def test_an_abandoned_group_that_another_zygote_removes_is_no_trouble(self) -> None:
        group = self.group(f"{PREFIX}{pid_namespace()}-{2**22 + 1}-1")

        def removed_meanwhile(pid: str) -> None:
            group.rmdir()

        # The folder disappears between pathlib's check that it is a folder and the read of its entries.
        with (
            unittest.mock.patch("harness.sandbox.cgroup.start_time", removed_meanwhile),
            unittest.mock.patch.object(Path, "is_dir", lambda self: True),
        ):
            remove_abandoned([self.root])
        self.assertEqual(list(self.root.iterdir()), [])

    def test_a_group_is_killed_and_waited_for(self) -> None:
        groups = Cgroups.find()
        if groups is None:
            self.skipTest("no control groups can be made here")
        self.addCleanup(groups.close)
        groups.make("child-1", 1 << 30)
        bomb = "import os\nfor _ in range(5): os.fork()\nprint('x', flush=True)\nimport time; time.sleep(1000)"
        child = subprocess.Popen(
            [sys.executable, "-c", bomb], stdout=subprocess.PIPE, preexec_fn=lambda: groups.enter("child-1")
        )
        assert child.stdout is not None
        for _ in range(32):
            child.stdout.readline()
        self.assertEqual(groups.end("child-1"), 0)
        groups.remove("child-1")
        self.assertFalse(any(group.exists() for group in groups.groups("child-1")))
        child.wait(60)
        child.stdout.close()


if __name__ == "__main__":
    unittest.main()
