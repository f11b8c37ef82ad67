"""Tests how commands of the toolchain are run and stopped."""

import os
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from pathlib import Path

from harness.extensions.memory_room import MemoryRoom
from harness.extensions.nvcc_steps import run_steps
from harness.extensions.toolchain import OUTPUT_MAX, Stop, run

WAIT_S = 60


def has_ended(pid: str) -> bool:
    try:
        return ") Z " in Path("/proc", pid, "stat").read_text()
    except OSError:
        return True


class Commands(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        end_s = time.monotonic() + WAIT_S
        while not condition():
            self.assertLess(time.monotonic(), end_s, what)
            time.sleep(0.01)

    def test_the_exit_code_and_the_first_output_are_returned(self) -> None:
        done = run(f"head -c {2 * OUTPUT_MAX} /dev/zero | tr '\\0' a; exit 3", self.folder)
        self.assertEqual((done.code, done.text), (3, "a" * OUTPUT_MAX))

    def test_a_stop_ends_a_command_with_its_children(self) -> None:
        stop = Stop()
        ended = []
        command = "sleep 1000 & echo $! > pid; touch begun; wait"
        thread = threading.Thread(target=lambda: ended.append(run(command, self.folder, stop=stop)))
        thread.start()
        self.until((self.folder / "begun").exists, "the command has begun")
        stop.set()
        thread.join(WAIT_S)
        self.assertFalse(thread.is_alive(), "a child of the command holds its output open")
        self.assertNotEqual(ended[0].code, 0)
        pid = (self.folder / "pid").read_text().strip()
        self.until(lambda: has_ended(pid), "the child of the command has ended")

    def test_a_command_that_is_begun_after_the_stop_ends(self) -> None:
        stop = Stop()
        stop.set()
        self.assertNotEqual(run(["sleep", "1000"], self.folder, stop=stop).code, 0)

    def test_a_stop_after_the_end_of_a_command_does_nothing(self) -> None:
        stop = Stop()
        self.assertEqual(run(["true"], self.folder, stop=stop).code, 0)
        stop.set()

    def test_a_failed_step_for_the_host_ends_those_for_the_device(self) -> None:
        steps = (
            f"PATH={self.folder}:{os.environ['PATH']}",
            'cudafe++ --module_id_file_name "id"',
            "touch device_has_begun; sleep 1000",
            "touch last_step",
        )
        (self.folder / "steps").write_text("".join(f"#$ {step}\n" for step in steps))
        nvcc = self.program("nvcc", "cat steps")
        self.program("cudafe++", "until [ -e device_has_begun ]; do sleep 0.01; done; echo wrong; exit 1")
        room = MemoryRoom(mib=2)
        said = run_steps([str(nvcc)], self.folder, room, {"cudafe++": 1, "other": 1})
        self.assertEqual((said, room.taken), ("wrong\n", 0))
        self.assertFalse((self.folder / "last_step").exists())

    def program(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path


if __name__ == "__main__":
    unittest.main()
