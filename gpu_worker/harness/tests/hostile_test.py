"""Tests children that misbehave: what the control process sees of them, and what they cannot do to others."""

import os
import signal
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path

from harness.children.page import Command, Failure
from harness.sandbox.cgroup import KILLED_FOR_MEMORY
from world import LIMIT_S, RELU, RELU_NEW, Child, WorldTest, Zygote, shared_zygote, take_shared_zygote


def new(body: str) -> str:
    """Returns a submission whose call runs `body`."""
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    return (
        "import ctypes, os, signal, socket, sys, time, torch\nclass ModelNew(torch.nn.Module):\n"
        "    def forward(self, x):\n"
    ) + lines


def is_alive(pid: int) -> bool:
    """Returns whether a process runs. A zombie that nobody reaps, because process 1 is no init, counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Hostile(WorldTest):
    def calling(self, body: str, **order: object) -> Child:
        """Returns a submission that is in the middle of its call."""
        submission = self.submission(new(body), **order)
        self.assert_ok(submission.do(Command.LOAD))
        submission.begin(Command.CALL)
        return submission

    def value(self, body: str) -> str:
        """Returns the text of the value that a submission's call computes."""
        child = self.calling(body + "\nraise RuntimeError(f'<{value}>')")
        self.assertTrue(child.is_done(LIMIT_S), child.log(0.1))
        return child.page.text[: child.page.text_bytes].decode().partition("<")[2].partition(">")[0]

    def test_every_end_is_told_as_it_was(self) -> None:
        ends = {
            "os._exit(0)": 0,
            "os._exit(3)": 3 << 8,
            "ctypes.string_at(0)": signal.SIGSEGV,
            "os.abort()": signal.SIGABRT,
            "os.kill(os.getpid(), signal.SIGKILL)": signal.SIGKILL,
        }
        for body, status in ends.items():
            with self.subTest(body):
                child = self.calling(body)
                self.assertEqual(self.zygote.exit_of(child.id), status)
                self.assertNotEqual(child.page.done, child.page.go, "an end never reads as an answer")

    def test_an_endless_loop_is_killed(self) -> None:
        child = self.calling("while True: pass")
        self.assertFalse(child.is_done(0.2))
        self.assertEqual(child.kill(), signal.SIGKILL)

    def test_shared_memory_counts_as_memory(self) -> None:
        if "cgroup" not in self.zygote.hello["sandbox"].split(","):
            self.skipTest("no control groups can be made here")
        hog = "import mmap\nm = mmap.mmap(-1, 2 << 30)\nfor at in range(0, 2 << 30, 4096): m[at] = 1\ntime.sleep(1000)"
        child = self.calling(hog, host_bytes=32 << 20, scratch_bytes=16 << 20)
        self.assertEqual(self.zygote.exit_of(child.id), signal.SIGKILL | KILLED_FOR_MEMORY)

    def test_whoever_it_leaves_behind_dies_with_it(self) -> None:
        daemon = (
            "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
            "        while True: time.sleep(1)\n    os._exit(0)\n"
        )
        for ending in ("os._exit(0)", "time.sleep(1000)"):
            child = self.calling(daemon + "time.sleep(0.2)\nprint('there', flush=True)\n" + ending)
            said = ""
            if ending != "os._exit(0)":
                said = os.read(child.log_fd, 100).decode()
                child.kill()
            # The log pipe ends when the last process that holds it is gone.
            self.assertEqual(said + child.log(LIMIT_S), "there\n")

    def test_a_fork_bomb_is_held_and_killed(self) -> None:
        child = self.calling("while True:\n    try:\n        os.fork()\n    except OSError:\n        pass")
        time.sleep(0.1)  # some twenty processes; cgroup_test.py tests their limit
        self.assertEqual(child.kill(), signal.SIGKILL)
        child.log(LIMIT_S)
        self.assertEqual(self.child({"problem.py": RELU, "new.py": RELU_NEW}).error, None)

    def test_a_memory_hog_meets_its_limit(self) -> None:
        submission = self.submission(new("x = [bytearray(16 << 20) for _ in range(1000)]"), host_bytes=256 << 20)
        self.assert_ok(submission.do(Command.LOAD))
        self.assert_failed(submission.do(Command.CALL), Failure.OUT_OF_HOST_MEMORY, "MemoryError")
        submission = self.submission(new("return torch.zeros(1 << 28)"), host_bytes=256 << 20)
        self.assert_ok(submission.do(Command.LOAD))
        self.assert_failed(submission.do(Command.CALL), Failure.OUT_OF_HOST_MEMORY, "memory")

    def test_what_it_prints_is_a_log_and_nothing_else(self) -> None:
        child = self.calling("""print('{"id": 1, "exit": 0}')\nos.write(2, b'{"verdict": "passed"}')\nreturn x""")
        self.assertTrue(child.is_done(LIMIT_S))
        child.kill()
        self.assertEqual(child.log(LIMIT_S), '{"id": 1, "exit": 0}\n{"verdict": "passed"}')

    def test_it_finds_nothing_of_the_worker(self) -> None:
        self.assertEqual(self.value("value = sorted(os.listdir('/proc/self/fd'))"), "['0', '1', '2', '3', '4']")
        self.assertEqual(
            self.value("value = [os.readlink(f'/proc/self/fd/{i}').partition(':')[0] for i in range(4)]"),
            "['/dev/null', 'pipe', 'pipe', 'socket']",
        )
        self.assertEqual(self.value("value = [p for p in os.listdir('/proc') if p.isdigit()]"), "['1', '2']")
        self.assertEqual(
            self.value("value = sorted(os.listdir('/kq')), os.getcwd(), sorted(os.listdir('.'))"),
            "(['given', 'src', 'work'], '/kq/work', [])",
        )
        own = Path(__file__).resolve().parents[3] / "README.md"  # a file of the checkout
        self.assertTrue(own.exists())
        self.assertEqual(
            self.value(f"value = os.path.exists('/etc/shadow'), os.path.exists({str(own)!r})"), "(False, False)"
        )
        if os.geteuid() == 0:
            self.assertEqual(self.value("value = os.getuid() != 0, os.getgroups()"), "(True, [])")

    def test_its_environment_is_the_allowed_one(self) -> None:
        names = self.value("value = ' '.join(sorted(os.environ))").split()
        self.assertIn("TRITON_CACHE_DIR", names)
        self.assertNotIn("KQ_TEST_STUB", names)
        self.assertEqual(self.value("value = os.environ['HOME'], os.environ['TMPDIR']"), "('/kq/work', '/kq/work')")

    def test_it_cannot_write_where_it_may_only_read(self) -> None:
        body = (
            "import harness\nvalue = 0\n"
            "for p in ('/usr/x', '/kq/given/x', '/kq/x', harness.__path__[0] + '/x', sys.prefix + "
            "'/x', '/tmp/x', '/kq/work/x', '/kq/src/x'):\n"
        )
        body += "    try:\n        open(p, 'w').close()\n        value += 1\n    except OSError:\n        pass"
        self.assertEqual(self.value(body), "3")

    def test_it_has_no_network(self) -> None:
        self.assertEqual(
            self.value("value = [line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line]"),
            "['lo']",
        )

    def test_a_file_name_of_the_harness_is_no_trouble(self) -> None:
        files: dict[str, str | bytes] = {"channel.py": "from reference import ModelNew\n", "reference.py": RELU_NEW}
        submission = self.submission(RELU_NEW, files, entry="channel.py")
        self.assert_ok(submission.do(Command.LOAD))


NO_CORE = 1023  # the number of a processor that no machine of a test has


class ZygoteItself(unittest.TestCase):
    def test_it_says_which_layers_there_are(self) -> None:
        zygote = shared_zygote("cpu")
        expected = (
            "uid,user,pid,mount,ipc,net,uts,rlimits" if os.geteuid() == 0 else "user,pid,mount,ipc,net,uts,rlimits"
        )
        layers = zygote.hello["sandbox"].split(",")
        # A kernel may be built without Landlock, and not every machine allows control groups.
        certain = [layer for layer in layers if layer not in ("landlock", "cgroup", "watchdog")]
        self.assertEqual(",".join(certain), expected + ",seccomp")
        for field in ("python", "torch", "triton", "cuda", "packages"):
            self.assertIn(field, zygote.hello)

    def test_a_python_without_torch_is_said_in_words(self) -> None:
        zygote = Zygote(python="/usr/bin/python3")
        if "ready" in zygote.hello:
            zygote.close()
            return  # the system's Python has torch
        self.assertIn("set KQ_PYTHON", zygote.hello["error"])
        self.assertEqual(zygote.process.wait(LIMIT_S), 3)

    def test_bad_orders_are_refused_in_words_and_it_lives_on(self) -> None:
        zygote = shared_zygote("cpu")
        null = os.open("/dev/null", os.O_RDWR)
        cases = [
            (
                {"role": "dance", "device": "cpu", "dir": "/tmp"},
                [null],
                "unknown role 'dance'; known are ready, build",
            ),
            ({"role": "build", "device": "cpu"}, [null], "the order's dir is None"),
            (
                {"role": "build", "device": "cpu", "dir": "/nowhere"},
                [],
                "0 descriptors came with a build order, expected 1",
            ),
            ({"role": "build", "device": "cpu", "dir": "/nowhere"}, [null], "/nowhere/out: No such file or directory"),
        ]
        for order, fds, words in cases:
            sent = zygote.send(order, fds)
            answer = zygote.await_packet(lambda packet, sent=sent: packet.get("id") == sent)
            self.assertIn(words, answer["error"])
        zygote.socket.send(b"nonsense")
        answer = zygote.await_packet(lambda packet: packet.get("id") == 0)
        self.assertIn("no JSON", answer["error"])
        self.assertIsNone(zygote.process.poll())

    def test_without_control_groups_memory_is_watched(self) -> None:
        zygote = Zygote(more=("--without-cgroups",))
        self.assertEqual(zygote.hello["sandbox"].split(",")[-1], "watchdog")
        hog = (
            "import mmap, torch\nm = mmap.mmap(-1, 1 << 30)\nwhile True:\n    m.seek(0)\n"
            "    while m.tell() < len(m):\n        m.write(b'1' * (1 << 20))\n"
        )
        root = tempfile.TemporaryDirectory(prefix="kq-harness.")
        self.addCleanup(root.cleanup)
        files = {"problem.py": RELU, "new.py": hog}
        child = Child(zygote, Path(root.name) / "1", files, host_bytes=16 << 20, scratch_bytes=1 << 20, window_bytes=0)
        self.addCleanup(child.close)
        child.share_window()
        child.do(Command.ATTACH)
        child.begin(Command.LOAD)
        self.assertEqual(zygote.exit_of(child.id), signal.SIGKILL | KILLED_FOR_MEMORY)
        child.channel.close()
        self.assert_ends_its_children(zygote, zygote.socket.close)

    def test_children_keep_to_the_cores_of_their_lane(self) -> None:
        core = max(os.sched_getaffinity(0))
        zygote = Zygote(more=("--cores", str(core)))
        self.addCleanup(zygote.close)
        root = tempfile.TemporaryDirectory(prefix="kq-harness.")
        self.addCleanup(root.cleanup)
        child = Child(zygote, Path(root.name) / "1", {"problem.py": RELU, "new.py": RELU_NEW})
        self.addCleanup(child.close)
        self.assertEqual(os.sched_getaffinity(child.pid), {core})
        self.assertEqual(os.sched_getaffinity(zygote.process.pid), os.sched_getaffinity(0))

    def test_a_build_keeps_to_the_cores_of_its_order(self) -> None:
        """Where none of them is left to the worker, a build uses all."""
        core = max(os.sched_getaffinity(0))
        zygote = Zygote()
        root = tempfile.TemporaryDirectory(prefix="kq-harness.")
        self.addCleanup(root.cleanup)
        self.addCleanup(zygote.close)  # before the folder is removed
        files = {"problem.py": RELU, "new.py": "import time\ntime.sleep(60)\n"}
        cases = {(core,): {core}, (NO_CORE,): os.sched_getaffinity(0), (): os.sched_getaffinity(0)}
        for number, (cores, expected) in enumerate(cases.items()):
            build = Child(zygote, Path(root.name) / str(number), files, role="record", cores=cores)
            self.addCleanup(build.close)
            self.assertIsNone(build.error)
            self.assertEqual(os.sched_getaffinity(build.pid), expected)

    def test_its_death_ends_its_children(self) -> None:
        zygote = take_shared_zygote("cpu")
        self.assert_ends_its_children(zygote, zygote.process.kill)

    def assert_ends_its_children(self, zygote: Zygote, end: Callable[[], None]) -> None:
        root = tempfile.TemporaryDirectory(prefix="kq-harness.")
        self.addCleanup(root.cleanup)
        child = Child(zygote, Path(root.name) / "1", {"problem.py": RELU, "new.py": RELU_NEW})
        end()
        zygote.process.wait(LIMIT_S)
        self.assertEqual(child.log(LIMIT_S), "")
        child.close()
        zygote.close()
        deadline = time.monotonic() + LIMIT_S
        while is_alive(child.pid):
            self.assertLess(time.monotonic(), deadline, "it outlived its zygote")
            time.sleep(0.005)


if __name__ == "__main__":
    unittest.main()
